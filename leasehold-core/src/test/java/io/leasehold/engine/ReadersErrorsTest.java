package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * An {@code Error} at any step of readers that share a hold, such as an exhausted memory: each reader receives an outcome,
 * and the hold is not renewed once all have left.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ReadersErrorsTest {

    private static final Duration TTL = Duration.ofSeconds(30);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .defaults(LockOptions.defaults().ttl(TTL))
            .connect();

    private CompletableFuture<Attempt<Lease>> reader() {
        return client.readWrite("n").read().attemptAsync(Duration.ofSeconds(5));
    }

    private AcquireReply granted(AcquireRequest asked) {
        return new AcquireReply.Granted(
                new Grant(asked.owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of());
    }

    private void grantAll() {
        store.acquires().forEach(asked -> asked.answer().complete(granted(asked.request())));
    }

    private List<Lease> readers(int count) {
        List<CompletableFuture<Attempt<Lease>>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(reader());
        }
        grantAll();
        return all.stream().map(each -> each.join().orElseThrow()).toList();
    }

    /** Runs the step, and fails the read of a clock with this number. Returns whether that read occurred. */
    private boolean meets(int fatal, Runnable step) {
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            if (reads.incrementAndGet() == fatal) {
                throw new InternalError("made by the test");
            }
        });
        try {
            step.run();
        } catch (InternalError e) {
            assertThat(e).hasMessage("made by the test");
        } finally {
            runtime.beforeAClockIsRead(() -> {});
        }
        return reads.get() >= fatal;
    }

    /** Lets time pass at a store that answers. */
    private void pass(Duration span) {
        for (long second = 0; second < span.toSeconds(); second++) {
            for (var asked : store.renewals()) {
                asked.answer()
                        .complete(new RenewReply(asked.request().items().stream()
                                .<RenewReply.Item>map(item -> new RenewReply.Renewed(runtime.nanoTime()))
                                .toList()));
            }
            runtime.pass(Duration.ofSeconds(1));
        }
    }

    /** If the release could not be sent, the hold ends with its ttl. */
    private void assertEnded(int at) {
        pass(Duration.ofSeconds(5));
        int renewals = store.renewals().size();
        pass(TTL);
        assertThat(store.releases()).as("read %d", at).hasSizeLessThan(2);
        assertThat(store.renewals()).as("read %d", at).hasSize(renewals);
    }

    @Test
    void whicheverStepOfAReleaseItMeetsTheHoldEnds() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ReadersErrorsTest own = new ReadersErrorsTest();
            List<Lease> readers = own.readers(2);
            met = own.meets(at, readers.get(0)::releaseAsync);
            readers.get(1).releaseAsync();
            own.assertEnded(at);

            ReadersErrorsTest last = new ReadersErrorsTest();
            List<Lease> both = last.readers(2);
            both.get(0).releaseAsync();
            met |= last.meets(at, both.get(1)::releaseAsync);
            last.assertEnded(at);
        }
    }

    @Test
    void whicheverStepOfAGrantItMeetsNoReaderIsForgotten() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ReadersErrorsTest own = new ReadersErrorsTest();
            List<CompletableFuture<Attempt<Lease>>> wanted = List.of(own.reader(), own.reader(), own.reader());
            var asked = own.store.acquires().get(0);
            AcquireReply reply = own.granted(asked.request());
            met = own.meets(at, () -> asked.answer().complete(reply));
            own.pass(Duration.ofSeconds(1));
            own.grantAll();
            own.pass(Duration.ofSeconds(10));
            for (CompletableFuture<Attempt<Lease>> each : wanted) {
                assertThat(each).as("read %d", at).isDone();
                if (!each.isCompletedExceptionally() && each.join() instanceof Attempt.Acquired<Lease> acquired) {
                    acquired.lease().releaseAsync();
                }
            }
            own.assertEnded(at);
        }
    }

    @Test
    void whicheverStepOfAFirstAnswerItMeetsEachReaderKeepsItsPatience() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ReadersErrorsTest own = new ReadersErrorsTest();
            List<CompletableFuture<Attempt<Lease>>> wanted = List.of(own.reader(), own.reader(), own.reader());
            met = own.meets(
                    at,
                    () -> own.store
                            .acquires()
                            .get(0)
                            .answer()
                            .complete(new AcquireReply.Busy(
                                    null, Duration.ofHours(1).toNanos(), List.of())));
            own.pass(Duration.ofSeconds(10));
            assertThat(wanted).as("read %d", at).allMatch(CompletableFuture::isDone);
        }
    }

    @Test
    void whicheverStepOfABusyAnswerItMeetsTheCallerReceivesAnOutcome() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ReadersErrorsTest own = new ReadersErrorsTest();
            var wanted = own.client.readWrite("n").read().attemptAsync(Duration.ZERO);
            var asked = own.store.acquires().get(0);
            met = own.meets(at, () -> asked.answer().complete(new AcquireReply.Busy(null, 0, List.of())));
            own.pass(Duration.ofSeconds(2));
            assertThat(wanted).as("read %d", at).isDone();
        }
    }

    /** Nothing else ends an attempt that no caller waits for; it could be granted later. */
    @Test
    void whicheverStepOfAWithdrawalItMeetsTheAttemptEnds() {
        for (boolean reads : new boolean[] {true, false}) {
            boolean met = true;
            for (int at = 1; met; at++) {
                ReadersErrorsTest own = new ReadersErrorsTest();
                CompletableFuture<? extends Lease> wanted = reads
                        ? own.client.readWrite("n").read().acquireAsync()
                        : own.client.readWrite("n").write().acquireAsync();
                own.store.acquires().get(0).answer().complete(new AcquireReply.Queued(null, 1, List.of()));
                met = own.meets(at, () -> wanted.cancel(true));
                own.pass(Duration.ofSeconds(20));
                assertThat(own.store.acquires())
                        .as("read %d, reads %s", at, reads)
                        .hasSize(1);
            }
        }
    }

    @Test
    void whicheverStepOfADowngradeItMeetsItEndsAndNoHoldIsKept() {
        for (boolean answers : new boolean[] {false, true}) {
            boolean met = true;
            for (int at = 1; met; at++) {
                ReadersErrorsTest own = new ReadersErrorsTest();
                var writer = own.client.readWrite("n").write().acquireAsync();
                own.grantAll();
                List<CompletableFuture<Lease>> readers = new ArrayList<>();
                Runnable begin = () -> readers.add(writer.join().downgradeAsync());
                met = answers ? own.answered(at, begin) : own.meets(at, begin);
                if (readers.isEmpty()) {
                    writer.join().releaseAsync();
                }
                for (int second = 0; second < 40; second++) {
                    own.downgradeAll();
                    own.pass(Duration.ofSeconds(1));
                }
                for (CompletableFuture<Lease> reader : readers) {
                    assertThat(reader).as("read %d, answers %s", at, answers).isDone();
                    if (!reader.isCompletedExceptionally()) {
                        assertThat(reader.join().isValid())
                                .as("read %d, answers %s", at, answers)
                                .isTrue();
                        reader.join().releaseAsync();
                    }
                }
                int renewals = own.store.renewals().size();
                own.pass(TTL);
                assertThat(own.store.renewals())
                        .as("read %d, answers %s", at, answers)
                        .hasSize(renewals);
            }
        }
    }

    private boolean answered(int fatal, Runnable begin) {
        begin.run();
        var asked = store.downgrades().get(0);
        AcquireReply reply = granted(asked.request());
        return meets(fatal, () -> asked.answer().complete(reply));
    }

    private void downgradeAll() {
        store.downgrades().forEach(asked -> asked.answer().complete(granted(asked.request())));
    }
}
