package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The answers of a store before it is opened, the retries, and its behaviour afterwards. Everything runs on the thread
 * of the test.
 */
@Tag("quick")
final class LazyStoreTest {

    private static final LockName NAME = LockName.exactly("x");
    private static final List<LockName> TWO = List.of(NAME, LockName.exactly("y"));
    private static final OwnerToken OWNER = OwnerToken.fromHex("a".repeat(40));
    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final Guarantees GUARANTEES = new Guarantees(
            Guarantee.Exclusion.BY_STORE,
            Guarantee.Fencing.INCREASING,
            Guarantee.Queueing.WAKE_UP,
            Guarantee.Scope.MACHINE);

    private final List<String> calls = new ArrayList<>();
    private final Deque<Supplier<LockStore>> tries = new ArrayDeque<>();
    private Pause whilePausing = () -> {};
    private Runnable timer = () -> {};
    private Runnable wake = () -> {};
    private int timersThatFail;

    private interface Pause {
        void run() throws InterruptedException;
    }

    /** Threads run at once; a wait lasts until the timer that was armed for it fires. */
    private final LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "startThread" -> ((Runnable) arguments[1]).run();
                    case "schedule" -> {
                        if (timersThatFail > 0) {
                            timersThatFail--;
                            throw new InternalError("no timer (made by the test)");
                        }
                        calls.add(
                                "pause " + Duration.ofNanos((long) arguments[0]).toMillis());
                        timer = (Runnable) arguments[1];
                        return (LockRuntime.Timer) () -> calls.add("timer cancelled");
                    }
                    case "await" -> {
                        whilePausing.run();
                        timer.run();
                    }
                    default -> throw new AssertionError(method);
                }
                return null;
            });

    private final StoreSignals signals = new StoreSignals() {
        @Override
        public void wake(LockName name) {}

        @Override
        public void lost(OwnerToken owner, LossCause cause) {}

        @Override
        public void reconnected() {
            calls.add("reconnected");
            wake.run();
        }
    };

    private final LazyStore lazy = lazy(false);

    private LazyStore lazy(boolean loginMayChange) {
        return new LazyStore(runtime, "there", loginMayChange, () -> {
            calls.add("try");
            return tries.removeFirst().get();
        });
    }

    private final AcquireReply acquired =
            new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException("its own", null), 0);
    private final RenewReply renewed = new RenewReply(List.of());
    private final ReleaseReply released = new ReleaseReply.NotOurs(List.of());

    private LockStore real() {
        return (LockStore) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockStore.class}, (proxy, method, arguments) -> {
                    return switch (method.getName()) {
                        case "listen" -> {
                            assertThat(arguments[0]).isSameAs(signals);
                            yield noted("listen");
                        }
                        case "close" -> noted("close");
                        case "description" -> "real";
                        case "guarantees" -> GUARANTEES;
                        case "maxTtl" -> Duration.ofDays(3);
                        case "isAtomicOver" -> ((List<?>) arguments[0]).size() == 2;
                        case "isOfNodes" -> true;
                        case "acquire" -> CompletableFuture.completedFuture(acquired);
                        case "renew" -> CompletableFuture.completedFuture(renewed);
                        case "release" -> CompletableFuture.completedFuture(released);
                        case "admin", "operations" -> null;
                        default -> throw new AssertionError(method);
                    };
                });
    }

    private Object noted(String call) {
        calls.add(call);
        return null;
    }

    private static LockStore fail(RuntimeException e) {
        throw e;
    }

    private void isAway(int times) {
        for (int i = 0; i < times; i++) {
            tries.add(() -> fail(new StoreUnavailableException("no server there", null)));
        }
    }

    private static AcquireRequest request() {
        return AcquireRequest.exclusive(List.of(NAME), OWNER, "holder", SECOND, SECOND);
    }

    private AcquireReply.Failed refusal() {
        return (AcquireReply.Failed) lazy.acquire(request().ballotSoFar(7)).join();
    }

    private static RenewBatch batch() {
        RenewBatch.Item item = new RenewBatch.Item(NAME, OWNER, SECOND, 0);
        return new RenewBatch(List.of(item, item), SECOND);
    }

    private static ReleaseRequest release() {
        return new ReleaseRequest(List.of(NAME), OWNER, 0, ReleaseRequest.Kind.RELEASE, SECOND);
    }

    private static String log(Runnable step) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            step.run();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void beforeItIsOpenedItPromisesNothingAndAnswersThatItIsNotReached() {
        assertThat(lazy.description()).isEqualTo("there");
        assertThat(lazy.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        assertThat(lazy.isAtomicOver(List.of(NAME))).isTrue();
        assertThat(lazy.isAtomicOver(TWO)).isFalse();
        assertThat(lazy.isOfNodes()).isFalse();
        assertThat(refusal().kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(refusal().error()).hasMessage("store there has not been reached yet");
        assertThat(refusal().ballot()).as("as far as before").isEqualTo(7);
        assertThat(lazy.renew(batch()).join().items())
                .hasSize(2)
                .allMatch(item -> item instanceof RenewReply.Failed failed
                        && failed.error() instanceof StoreUnavailableException);
        assertThat(lazy.release(release()).join())
                .as("nothing can have been granted")
                .isInstanceOf(ReleaseReply.NotOurs.class);
    }

    @Test
    void beforeItIsOpenedOperatorsAreToldTheSame() {
        ClientRecord record = new ClientRecord("host/1/me", "host", 1, "me", Instant.EPOCH, List.of());
        assertThat(lazy.operations().keepsClientRecords()).as("it may").isTrue();
        for (CompletableFuture<?> one : List.of(
                lazy.operations().announce(record, SECOND),
                lazy.operations().client("host/1/me"),
                lazy.admin().describe(NAME),
                lazy.admin().list("*", 10),
                lazy.admin().waiters(NAME, 10),
                lazy.admin().readers(NAME, 10),
                lazy.admin().forceRelease(NAME, null))) {
            assertThat(one).isCompletedExceptionally();
            assertThat(one.handle((answer, error) -> error).join()).isInstanceOf(StoreUnavailableException.class);
        }
    }

    @Test
    void onceOpenedItIsTheStore() {
        tries.add(this::real);
        String log = log(() -> lazy.listen(signals));
        assertThat(calls).containsExactly("try", "listen", "reconnected");
        assertThat(log).as("it was reached at once").doesNotContain("is reached now");
        assertThat(lazy.description()).isEqualTo("real");
        assertThat(lazy.guarantees()).isEqualTo(GUARANTEES);
        assertThat(lazy.maxTtl()).isEqualTo(Duration.ofDays(3));
        assertThat(lazy.isAtomicOver(TWO)).isTrue();
        assertThat(lazy.isAtomicOver(List.of(NAME))).isFalse();
        assertThat(lazy.isOfNodes()).isTrue();
        assertThat(lazy.acquire(request()).join()).isSameAs(acquired);
        assertThat(lazy.renew(batch()).join()).isSameAs(renewed);
        assertThat(lazy.release(release()).join()).isSameAs(released);
        assertThat(lazy.admin()).isNull();
        assertThat(lazy.operations()).isNull();
        lazy.close();
        assertThat(calls).endsWith("close");
    }

    @Test
    void itIsTriedEverySecondUntilItIsReachedAndThatIsInTheLogOnce() {
        isAway(3);
        tries.add(this::real);
        String log = log(() -> lazy.listen(signals));
        assertThat(calls)
                .containsExactly(
                        "try",
                        "pause 1000",
                        "timer cancelled",
                        "try",
                        "pause 1000",
                        "timer cancelled",
                        "try",
                        "pause 1000",
                        "timer cancelled",
                        "try",
                        "listen",
                        "reconnected");
        assertThat(log)
                .containsOnlyOnce("the store there is not reached yet; the client keeps trying: no server there")
                .containsOnlyOnce("the store there is reached now");
    }

    @Test
    void aTimerThatCannotBeArmedEndsNoRetries() {
        isAway(1);
        tries.add(this::real);
        timersThatFail = 1;
        log(() -> lazy.listen(signals));
        assertThat(calls).containsExactly("try", "pause 1000", "timer cancelled", "try", "listen", "reconnected");
    }

    @Test
    void whileItIsAwayTheLastReasonIsTold() {
        isAway(1);
        whilePausing = () -> {
            assertThat(refusal().kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(refusal().error()).hasMessage("no server there");
            lazy.close();
        };
        lazy.listen(signals);
        assertThat(calls).as("it is not tried after the close").containsExactly("try", "pause 1000", "timer cancelled");
    }

    @Test
    void aRefusalIsItsAnswerAndToldAtOnce() {
        whilePausing = () -> {
            throw new InterruptedException("the end of the test");
        };
        for (boolean known : new boolean[] {true, false}) {
            calls.clear();
            RuntimeException why =
                    known ? new UnsafeStoreException("too weak", null) : new IllegalStateException("made by the test");
            tries.add(() -> fail(why));
            log(() -> lazy.listen(signals));
            assertThat(Thread.interrupted()).isTrue();
            assertThat(calls)
                    .as("who waits asks again")
                    .containsExactly("try", "reconnected", "pause 60000", "timer cancelled");
            assertThat(refusal().kind()).isEqualTo(FailureKind.PERMANENT);
            if (known) {
                assertThat(refusal().error()).isSameAs(why);
            } else {
                assertThat(refusal().error())
                        .isExactlyInstanceOf(LockStoreException.class)
                        .hasMessage("store there cannot be opened: made by the test")
                        .hasCause(why);
            }
        }
    }

    /** An operator has mended the password, a replica was promoted, a file with a certificate was mounted. */
    @Test
    void aStoreThatWasRefusedServesOnceItIsMended() {
        tries.add(() -> fail(new UnsafeStoreException("too weak", null)));
        isAway(1);
        tries.add(() -> fail(new UnsafeStoreException("too weak again", null)));
        tries.add(this::real);
        List<FailureKind> meanwhile = new ArrayList<>();
        whilePausing = () -> meanwhile.add(refusal().kind());
        String log = log(() -> lazy.listen(signals));
        assertThat(calls)
                .containsExactly(
                        "try",
                        "reconnected",
                        "pause 60000",
                        "timer cancelled",
                        "try",
                        "pause 1000",
                        "timer cancelled",
                        "try",
                        "reconnected",
                        "pause 60000",
                        "timer cancelled",
                        "try",
                        "listen",
                        "reconnected");
        assertThat(meanwhile).containsExactly(FailureKind.PERMANENT, FailureKind.NO_EFFECT, FailureKind.PERMANENT);
        assertThat(log).containsOnlyOnce("is reached now");
        assertThat(lazy.acquire(request()).join()).isSameAs(acquired);
    }

    /** After an operator has mended the first cause, the log must show the second one. */
    @Test
    void aRefusalForAnotherReasonAndEachStateAfterAnotherIsLogged() {
        Runnable weak = () -> tries.add(() -> fail(new UnsafeStoreException("too weak", null)));
        weak.run();
        weak.run();
        tries.add(() -> fail(new StoreAccessException("WRONGPASS", null)));
        isAway(2);
        tries.add(() -> fail(new StoreAccessException("WRONGPASS", null)));
        isAway(1);
        tries.add(this::real);
        List<String> states = log(() -> lazy.listen(signals))
                .lines()
                .filter(line -> line.contains("the store there") || line.contains("Exception: "))
                .map(line -> line.replaceAll(".*(cannot be opened|not reached yet|is reached now).*", "$1")
                        .replaceAll(".*Exception: ", ""))
                .toList();
        assertThat(states)
                .containsExactly(
                        "cannot be opened",
                        "too weak",
                        "cannot be opened",
                        "WRONGPASS",
                        "not reached yet",
                        "cannot be opened",
                        "WRONGPASS",
                        "not reached yet",
                        "is reached now");
    }

    /** Provider and server do not change a password at the same moment: what waits need not fail. */
    @Test
    void aRefusedLogInMayPassWhereAProviderGivesTheCredentials() {
        tries.add(() -> fail(new StoreAccessException("WRONGPASS", null)));
        tries.add(this::real);
        LazyStore withProvider = lazy(true);
        List<AcquireReply> meanwhile = new ArrayList<>();
        whilePausing = () -> meanwhile.add(withProvider.acquire(request()).join());
        String log = log(() -> withProvider.listen(signals));
        assertThat(calls).containsExactly("try", "pause 10000", "timer cancelled", "try", "listen", "reconnected");
        assertThat(meanwhile).singleElement().isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error()).hasMessage("WRONGPASS");
        });
        assertThat(log).contains("not reached yet").contains("WRONGPASS").contains("is reached now");

        calls.clear();
        tries.add(() -> fail(new StoreAccessException("WRONGPASS", null)));
        tries.add(this::real);
        log(() -> lazy.listen(signals));
        assertThat(calls).as("without a provider").contains("pause 60000");
    }

    /** Otherwise, the log's last word would be the refused connection, for ever. */
    @Test
    void aRefusedLogInAfterAnOutageIsLoggedWhereAProviderGivesTheCredentials() {
        isAway(2);
        tries.add(() -> fail(new StoreAccessException("WRONGPASS", null)));
        tries.add(() -> fail(new StoreAccessException("WRONGPASS", null)));
        tries.add(this::real);
        LazyStore withProvider = lazy(true);
        String log = log(() -> withProvider.listen(signals));
        assertThat(log)
                .containsOnlyOnce("not reached yet; the client keeps trying: no server there")
                .containsOnlyOnce("not reached yet; the client keeps trying: WRONGPASS")
                .contains("is reached now");
    }

    /** A lack of memory while the waiters are woken. */
    @Test
    void aFailureToWakeNeitherOpensASecondStoreNorEndsTheRetries() {
        wake = () -> {
            throw new OutOfMemoryError("made by the test");
        };
        tries.add(() -> fail(new UnsafeStoreException("too weak", null)));
        tries.add(this::real);
        String log = log(() -> lazy.listen(signals));
        assertThat(calls)
                .containsExactly(
                        "try", "reconnected", "pause 60000", "timer cancelled", "try", "listen", "reconnected");
        assertThat(log).contains("made by the test");
        assertThat(lazy.acquire(request()).join()).isSameAs(acquired);
    }

    /** Otherwise, the caller would receive a permanent failure of a store that may be reachable a moment later. */
    @Test
    void whoAsksMeanwhileIsNotToldForGoodThatItWasNotReachedYet() {
        AtomicReference<AcquireReply.Failed> meanwhile = new AtomicReference<>();
        tries.add(() -> fail(new IllegalStateException() {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                meanwhile.compareAndSet(null, refusal());
                return "made by the test";
            }
        }));
        whilePausing = () -> {
            throw new InterruptedException("the end of the test");
        };
        log(() -> lazy.listen(signals));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(meanwhile.get().kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(refusal().kind()).isEqualTo(FailureKind.PERMANENT);
    }

    @Test
    void aStoreThatComesAfterTheCloseIsClosedAndNobodyIsTold() {
        isAway(1);
        tries.add(() -> {
            lazy.close();
            return real();
        });
        String log = log(() -> lazy.listen(signals));
        assertThat(calls).containsExactly("try", "pause 1000", "timer cancelled", "try", "listen", "close");
        assertThat(lazy.description()).isEqualTo("there");
        assertThat(log).doesNotContain("is reached now");
    }

    /** Its store may wait for long while it opens, as SQLite's does for a locked file: otherwise the thread would remain. */
    @Test
    @Timeout(60)
    void theCloseEndsATryThatWaits() throws InterruptedException {
        CountDownLatch waits = new CountDownLatch(1);
        tries.add(() -> {
            waits.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StoreUnavailableException("interrupted", e);
            }
            throw new AssertionError("unreachable");
        });
        Thread opening = new Thread(() -> lazy.listen(signals), "opens");
        opening.setDaemon(true);
        opening.start();
        waits.await();
        String log = log(lazy::close);
        opening.join();
        assertThat(calls).startsWith("try").doesNotContain("reconnected");
        assertThat(log).doesNotContain("not reached yet");
    }

    @Test
    void anInterruptEndsTheTriesAndIsKept() {
        isAway(1);
        whilePausing = () -> {
            throw new InterruptedException();
        };
        lazy.listen(signals);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(calls).containsExactly("try", "pause 1000", "timer cancelled");
    }
}
