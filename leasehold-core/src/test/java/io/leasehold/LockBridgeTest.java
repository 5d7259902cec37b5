package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both locks or none, in a fixed order, whatever happens at the second. */
@Timeout(60)
@Tag("quick")
class LockBridgeTest {

    private final LockClient older = Leasehold.connect("memory:");
    private final LockClient newer = Leasehold.connect("memory:");
    private final LockBridge bridge = LockBridge.of(older.named("x"), newer.named("x"));

    @Test
    void bothAreHeldAndGivenBack() throws InterruptedException {
        LockBridge.Both both = bridge.acquire();
        assertThat(older.admin().inspect(LockName.exactly("x"))).isPresent();
        assertThat(newer.admin().inspect(LockName.exactly("x"))).isPresent();
        assertThat(both.older().fencingToken()).isPositive();
        assertThat(both.newer().fencingToken()).isPositive();
        assertThat(both.isValid()).isTrue();
        assertThat(both.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(both.isValid()).isFalse();
        both.close();
        assertFree();
    }

    private void assertFree() {
        assertThat(older.admin().inspect(LockName.exactly("x"))).isEmpty();
        assertThat(newer.admin().inspect(LockName.exactly("x"))).isEmpty();
    }

    @Test
    void aBusySecondGivesTheFirstBack() throws InterruptedException {
        try (Lease busy = newer.named("x").acquire()) {
            assertThat(bridge.tryAcquire(Duration.ofMillis(20))).isNull();
            assertThat(older.admin().inspect(LockName.exactly("x"))).isEmpty();
            assertThat(busy.isValid()).isTrue();
        }
        try (Lease busy = older.named("x").acquire()) {
            assertThat(bridge.tryAcquire(Duration.ZERO)).isNull();
            assertThat(newer.admin().inspect(LockName.exactly("x"))).isEmpty();
            assertThat(busy.isValid()).isTrue();
        }
    }

    @Test
    void anErrorAtTheSecondGivesTheFirstBack() {
        newer.close();
        assertThatThrownBy(bridge::acquire).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> bridge.tryAcquire(Duration.ofSeconds(1))).isInstanceOf(IllegalStateException.class);
        assertThat(older.admin().inspect(LockName.exactly("x"))).isEmpty();
    }

    @Test
    void anInterruptAtTheSecondGivesTheFirstBack() throws Exception {
        try (Lease busy = newer.named("x").acquire()) {
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread waiting = new Thread(() -> {
                try {
                    bridge.acquire().close();
                } catch (InterruptedException e) {
                    thrown.set(e);
                }
            });
            waiting.start();
            while (older.admin().inspect(LockName.exactly("x")).isEmpty()) {
                Thread.onSpinWait();
            }
            waiting.interrupt();
            waiting.join();
            assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
            assertThat(older.admin().inspect(LockName.exactly("x"))).isEmpty();
            assertThat(busy.isValid()).isTrue();
        }
    }

    @Test
    void theLossOfEitherIsToldOnce() throws Exception {
        try (LockBridge.Both both = bridge.acquire()) {
            CompletableFuture<LossCause> told = new CompletableFuture<>();
            both.onLost(cause -> assertThat(told.complete(cause)).isTrue());
            newer.admin().forceRelease(LockName.exactly("x"), null);
            assertThat(told.get(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
            assertThat(both.isValid()).isFalse();
            assertThatThrownBy(() -> both.ensureValidFor(Duration.ofMillis(1))).isInstanceOf(LeaseLostException.class);
            assertThat(both.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        }
        assertFree();
    }
}
