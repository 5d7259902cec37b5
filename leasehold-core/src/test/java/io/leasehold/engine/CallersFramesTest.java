package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.TokenRange;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** If another thread has answered a call, the failure shows where the call was made. */
@Tag("quick")
@Timeout(120)
final class CallersFramesTest {

    private static final LockName ONE = LockName.exactly("one");
    private static final LockName OTHER = LockName.exactly("other");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();

    private static void onADriversThread(Runnable answer) {
        Thread driver = new Thread(answer, "driver");
        driver.start();
        try {
            driver.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void grantTheLast() {
        var asked = store.acquires().get(store.acquires().size() - 1);
        AcquireRequest request = asked.request();
        Grant grant = new Grant(request.owner(), TokenRange.of(1, 64), runtime.nanoTime(), Incarnation.DURABLE);
        onADriversThread(() -> asked.answer().complete(new AcquireReply.Granted(grant, List.of())));
    }

    /** Returns the log events up to the detection of a dropped lease. */
    private String logOfADroppedLease(Consumer<LockClient> drop) throws InterruptedException {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        LockClient client = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .recordAcquisitionStacks()
                .connect();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            drop.accept(client);
            for (int tries = 0; tries < 300 && !text(log).contains("was dropped without"); tries++) {
                System.gc();
                Thread.sleep(10);
                runtime.pass(Duration.ofSeconds(1));
            }
        } finally {
            System.setErr(before);
        }
        return text(log);
    }

    private static String text(ByteArrayOutputStream log) {
        return log.toString(StandardCharsets.UTF_8);
    }

    private void askForOneHere(LockClient client) {
        CompletableFuture<?> future = client.named(ONE).acquireAsync();
        grantTheLast();
        assertThat(future).isCompleted();
    }

    private void askForBothHere(LockClient client) {
        CompletableFuture<?> future = client.all(ONE, OTHER).acquireAsync();
        grantTheLast();
        assertThat(future).isCompleted();
    }

    private void askForOneAfterTheOtherHere(LockClient client) {
        CompletableFuture<?> future = client.all(ONE, OTHER).acquireAsync();
        var atOnce = store.acquires().get(0);
        onADriversThread(() -> atOnce.answer().complete(new AcquireReply.Busy(null, 1, List.of())));
        grantTheLast();
        grantTheLast();
        assertThat(future).isCompleted();
    }

    private void waitForItHere(LockClient client) {
        var first = client.named(ONE).acquireAsync();
        CompletableFuture<?> next = client.named(ONE).acquireAsync();
        grantTheLast();
        onADriversThread(() -> assertThat(first.join().releaseAsync()).isNotNull());
        assertThat(next).isCompleted();
    }

    @Test
    void aDroppedLeaseShowsWhereItWasAskedFor() throws InterruptedException {
        assertThat(logOfADroppedLease(this::askForOneHere)).contains("askForOneHere");
    }

    @Test
    void aDroppedLeaseOfSeveralLocksDoes() throws InterruptedException {
        assertThat(logOfADroppedLease(this::askForBothHere)).contains("askForBothHere");
    }

    @Test
    void soDoesOneThatWasTakenPartByPart() throws InterruptedException {
        String log = logOfADroppedLease(this::askForOneAfterTheOtherHere);
        assertThat(log.split("askForOneAfterTheOtherHere", -1)).hasSizeGreaterThanOrEqualTo(3);
    }

    @Test
    void soDoesOneThatWasPassedOnWithinTheProcess() throws InterruptedException {
        assertThat(logOfADroppedLease(this::waitForItHere)).contains("waitForItHere");
    }

    private static void hasTheCallersFrames(Throwable thrown, String caller) {
        assertThat(frames(thrown)).contains(caller).doesNotContain("failOnTheDriversThread");
        assertThat(thrown.getSuppressed()).hasSize(1);
        assertThat(frames(thrown.getSuppressed()[0])).contains("failOnTheDriversThread");
    }

    private static List<String> frames(Throwable thrown) {
        return Arrays.stream(thrown.getStackTrace())
                .map(StackTraceElement::getMethodName)
                .toList();
    }

    private static StoreUnavailableException failOnTheDriversThread() {
        return new StoreUnavailableException("not there", null);
    }

    private static LockStore unreachable(LockRuntime world) {
        CompletableFuture<StoreUnavailableException> failure = new CompletableFuture<>();
        onADriversThread(() -> failure.complete(failOnTheDriversThread()));
        throw failure.join();
    }

    private static void connectHere() {
        Leasehold.builder().store(CallersFramesTest::unreachable).connect();
    }

    @Test
    void aFailureOfConnectShowsWhoConnectsAndNoThreadOfADriver() {
        Throwable thrown = catchThrowable(CallersFramesTest::connectHere);
        assertThat(frames(thrown)).contains("connectHere").doesNotContain("failOnTheDriversThread");
        assertThat(thrown).hasMessage("not there").hasNoSuppressedExceptions();
    }

    @Test
    void aFailureOfConnectThatIsMadeThereIsLeftAsItIs() {
        Throwable thrown = catchThrowable(() -> Leasehold.connect("nowhere:"));
        assertThat(thrown).isInstanceOf(IllegalArgumentException.class).hasNoSuppressedExceptions();
        assertThat(frames(thrown)).startsWith("provider", "open").contains("connect");
    }

    private static void acquireHere(LockClient client) throws InterruptedException {
        client.named(ONE).acquire();
    }

    @Test
    void aFailureOfAcquireShowsWhoAcquiresAndWhereItWasMade() throws InterruptedException {
        LockClient client = Leasehold.builder().store(store).runtime(runtime).connect();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread caller = new Thread(() -> thrown.complete(catchThrowable(() -> acquireHere(client))));
        caller.start();
        while (store.acquires().isEmpty()) {
            Thread.onSpinWait();
        }
        onADriversThread(() -> store.acquires()
                .get(0)
                .answer()
                .complete(new AcquireReply.Failed(FailureKind.PERMANENT, failOnTheDriversThread(), 0)));
        caller.join();
        hasTheCallersFrames(thrown.join(), "acquireHere");
    }
}
