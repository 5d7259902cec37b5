package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Waiting, its order and its ends, accurate to the nanosecond. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class WaitingInVirtualTimeTest {

    private final Lab lab = new Lab(11);

    @Test
    void theUsersExampleWorks() throws InterruptedException {
        VirtualRuntime virtual = VirtualRuntime.seeded(42);
        try (io.leasehold.LockClient locks = io.leasehold.Leasehold.builder()
                .store("memory:")
                .runtime(virtual)
                .connect()) {
            Lease lease = locks.named("order:1001").acquire();
            assertThat(lease.isValid()).isTrue();
            virtual.runFor(Duration.ofHours(1));
            assertThat(lease.isValid()).as("renewed for an hour").isTrue();
            virtual.pause(Duration.ofMinutes(1));
            assertThat(lease.isValid()).as("after a pause of a minute").isFalse();
        }
    }

    @Test
    void clientsAreServedInTheOrderInWhichTheyAsked() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        List<String> order = new ArrayList<>();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (String name : List.of("first", "second", "third", "fourth")) {
            all.add(lab.client(name).attempt(Duration.ofMinutes(10)).thenAccept(attempt -> {
                order.add(name);
                attempt.orElseThrow().releaseAsync();
            }));
            lab.world.runFor(Duration.ofMillis(20));
        }
        lab.world.runFor(Duration.ofMinutes(2));
        assertThat(order).isEmpty();
        held.release();
        all.forEach(lab.world::runUntilDone);
        assertThat(order).containsExactly("first", "second", "third", "fourth");
    }

    @Test
    void aWaiterIsWokenByTheReleaseAndNotByItsRecheck() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        CompletableFuture<Attempt<Lease>> waiting = lab.client("waiter").attempt(Duration.ofMinutes(10));
        lab.world.runFor(Duration.ofSeconds(7));
        long before = lab.world.elapsedNanos();
        held.release();
        lab.world.runUntilDone(waiting);
        assertThat(lab.world.elapsedNanos() - before)
                .isLessThanOrEqualTo(Lab.LATENCY.multipliedBy(5).toNanos());
    }

    @Test
    void aLostWakeUpCostsNoMoreThanTheRecheck() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        Lab.Client waiter = lab.client("waiter");
        CompletableFuture<Attempt<Lease>> waiting = waiter.attempt(Duration.ofMinutes(10));
        lab.world.runFor(Duration.ofMillis(100));
        waiter.link.replies().cut();
        held.release();
        lab.world.runFor(Duration.ofMillis(100));
        waiter.link.replies().heal();
        assertThat(waiting).isNotDone();
        long before = lab.world.elapsedNanos();
        lab.world.runUntilDone(waiting);
        assertThat(lab.world.elapsedNanos() - before)
                .isLessThanOrEqualTo(Duration.ofMillis(3_700).toNanos());
    }

    @Test
    void patienceEndsOnTime() throws InterruptedException {
        lab.client("holder").acquire();
        Lab.Client waiter = lab.client("waiter");
        long before = lab.world.elapsedNanos();
        Attempt<Lease> attempt = waiter.locks.named(Lab.LOCK).attempt(Duration.ofMillis(12_345));
        long waited = lab.world.elapsedNanos() - before;
        assertThat(attempt).isInstanceOf(Attempt.Busy.class);
        assertThat(Duration.ofNanos(waited)).isBetween(Duration.ofMillis(12_345), Duration.ofMillis(13_400));
        lab.world.runFor(Duration.ofMillis(100));
        assertThat(((Attempt.Busy<Lease>) attempt).holder().id()).contains("holder");
    }

    @Test
    void aWaiterThatGaveUpIsNotGrantedAnyMore() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        lab.client("gives-up").locks.named(Lab.LOCK).attempt(Duration.ofSeconds(1));
        CompletableFuture<Attempt<Lease>> stays = lab.client("stays").attempt(Duration.ofMinutes(10));
        lab.world.runFor(Duration.ofMillis(50));
        long before = lab.world.elapsedNanos();
        held.release();
        lab.world.runUntilDone(stays);
        assertThat(lab.world.elapsedNanos() - before)
                .isLessThanOrEqualTo(Lab.LATENCY.multipliedBy(5).toNanos());
    }

    @Test
    void interruptingAWaiterWithdrawsIt() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        Lab.Client waiter = lab.client("waiter");
        lab.world.after(Duration.ofSeconds(5), () -> Thread.currentThread().interrupt());
        assertThatThrownBy(waiter::acquire).isInstanceOf(InterruptedException.class);
        held.release();
        lab.world.runFor(Duration.ofMillis(100));
        assertThat(lab.isHeld()).isFalse();
    }

    @Test
    void anInterruptDuringTheRoundTripOfAGrantGivesTheGrantBack() {
        Lab.Client client = lab.client("client");
        // After the request was sent, before the reply is received.
        for (long micros = 100; micros < 4_500; micros += 400) {
            long at = micros;
            lab.world.after(
                    Duration.ofNanos(at * 1_000), () -> Thread.currentThread().interrupt());
            try {
                client.acquire().release();
            } catch (InterruptedException e) {
                lab.world.note("interrupted");
            }
            lab.world.runFor(Duration.ofMillis(50));
            Thread.interrupted();
            assertThat(lab.isHeld())
                    .as("interrupted %d µs into the acquire", at)
                    .isFalse();
        }
    }

    @Test
    void cancellingDuringTheRoundTripOfAGrantGivesTheGrantBack() {
        Lab.Client client = lab.client("client");
        for (long micros = 0; micros < 4_500; micros += 250) {
            CompletableFuture<Lease> future = client.locks.named(Lab.LOCK).acquireAsync();
            lab.world.runFor(Duration.ofNanos(micros * 1_000));
            if (!future.cancel(false)) {
                future.join().releaseAsync();
            }
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(lab.isHeld())
                    .as("cancelled %d µs into the acquire", micros)
                    .isFalse();
        }
    }

    @Test
    void closingDuringTheRoundTripOfAGrantGivesTheGrantBack() {
        for (long micros = 0; micros < 4_500; micros += 250) {
            Lab.Client client = lab.client("client");
            CompletableFuture<Lease> future = client.locks.named(Lab.LOCK).acquireAsync();
            lab.world.runFor(Duration.ofNanos(micros * 1_000));
            client.locks.close();
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(lab.isHeld()).as("closed %d µs into the acquire", micros).isFalse();
            assertThat(future).isDone();
        }
    }

    @Test
    void aFutureThatIsCompletedFromOutsideDoesNotKeepTheLock() {
        Lab.Client client = lab.client("client");
        CompletableFuture<Lease> future = client.locks.named(Lab.LOCK).acquireAsync();
        future.completeExceptionally(new IllegalStateException("changed my mind"));
        lab.world.runFor(Duration.ofSeconds(1));
        assertThat(lab.isHeld()).isFalse();
    }

    @Test
    void holdWhileCompletesInEveryCase() {
        Lab.Client client = lab.client("client");
        Lab.Client other = lab.client("other");
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> first = client.locks.named(Lab.LOCK).holdWhile(Duration.ofSeconds(1), lease -> work);
        lab.world.runFor(Duration.ofMillis(100));
        CompletableFuture<String> busy =
                other.locks.named(Lab.LOCK).holdWhile(Duration.ofSeconds(2), lease -> new CompletableFuture<>());
        lab.world.runFor(Duration.ofSeconds(3));
        assertThat(busy).isCompletedExceptionally();
        work.complete("done");
        assertThat(lab.world.runUntilDone(first)).isEqualTo("done");
        lab.world.runFor(Duration.ofMillis(100));
        assertThat(lab.isHeld()).isFalse();
    }
}
