package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Success is not logged. A loss that no user code has noticed, and an action of an operator, are logged once, with
 * key-values.
 */
@Tag("quick")
class LoggingTest {

    private interface Work {
        void with(LockClient locks) throws InterruptedException;
    }

    private static String logged(Work work) throws InterruptedException {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try (LockClient locks = Leasehold.connect("memory:")) {
            work.with(locks);
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void successIsQuiet() throws InterruptedException {
        assertThat(logged(locks -> {
                    for (int i = 0; i < 10; i++) {
                        try (Lease lease = locks.named("quiet").acquire()) {
                            lease.renew();
                            assertThat(locks.named("quiet").tryAcquire(Duration.ZERO))
                                    .isNull();
                        }
                    }
                }))
                .doesNotContain("quiet");
    }

    @Test
    void aLossThatNothingNoticedIsLoggedOnceWithKeyValues() throws InterruptedException {
        String log = logged(locks -> {
            try (Lease lease = locks.named("lost unheard").acquire()) {
                locks.admin().forceRelease(LockName.exactly("lost unheard"), null);
                assertThat(lease.fencingToken()).isPositive();
            }
        });
        assertThat(log.lines().filter(line -> line.contains("ERROR")))
                .singleElement()
                .asString()
                .contains("lock=lost unheard", "fencingToken=", "cause=FORCE_RELEASED", "store=memory:");
        assertThat(log.lines().filter(line -> line.contains("io.leasehold.audit")))
                .singleElement()
                .asString()
                .contains("action=force-release", "removed=true", "by=");
    }

    @Test
    void aReleaseByForceOfAnotherHolderSaysWhoWasWantedAndThatItWasNone() throws InterruptedException {
        String log = logged(locks -> {
            try (Lease lease = locks.named("kept").acquire()) {
                assertThat(locks.admin().forceRelease(LockName.exactly("kept"), "host/1/gone"))
                        .isFalse();
                assertThat(lease.isValid()).isTrue();
            }
        });
        assertThat(log.lines().filter(line -> line.contains("io.leasehold.audit")))
                .singleElement()
                .asString()
                .contains("lock=kept", "wanted=host/1/gone", "removed=false", "store=memory:");
    }

    private static final LockName NAME = LockName.exactly("lost");

    private static void lose(LockClient locks) {
        assertThat(locks.admin().forceRelease(NAME, null)).isTrue();
    }

    private static long errors(Work work) throws InterruptedException {
        return logged(work).lines().filter(line -> line.contains("ERROR")).count();
    }

    /** The user's code may have noticed the loss by a query, a callback or an interrupt. */
    @Test
    void aLossThatWasHeardOfIsNotLogged() throws InterruptedException {
        assertThat(errors(locks -> {
                    try (Lease lease = locks.named(NAME).acquire()) {
                        lose(locks);
                        assertThat(lease.isValid()).isFalse();
                    }
                }))
                .isZero();
        assertThat(errors(locks -> {
                    try (Lease lease = locks.named(NAME).acquire()) {
                        CompletableFuture<LossCause> told = new CompletableFuture<>();
                        lease.onLost(told::complete);
                        lose(locks);
                        told.join();
                    }
                }))
                .isZero();
        assertThat(errors(locks -> {
                    try (Lease lease = locks.named(NAME).acquire()) {
                        lease.interruptOnLoss();
                        lose(locks);
                        assertThat(Thread.interrupted()).isTrue();
                    }
                }))
                .isZero();
        assertThat(errors(locks -> {
                    try (Lease lease = locks.named(NAME).acquire()) {
                        lose(locks);
                        assertThatThrownBy(lease::renew).isInstanceOf(LeaseLostException.class);
                    }
                }))
                .isZero();
        assertThat(errors(locks -> {
                    try (Lease lease = locks.named(NAME).acquire()) {
                        lose(locks);
                        lease.interruptOnLoss();
                        assertThat(Thread.interrupted()).isTrue();
                    }
                }))
                .isZero();
    }

    /** The failure of its renewal notifies the caller that waits for it. */
    @Test
    void aLossThatMeetsARenewalByHandIsNotLogged() throws InterruptedException {
        StillRuntime runtime = new StillRuntime();
        SilentStore store = new SilentStore();
        store.answersAtOnce(asked -> new AcquireReply.Granted(
                new Grant(asked.owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
        String log = logged(unused -> {
            try (LockClient locks =
                    Leasehold.builder().store(store).runtime(runtime).connect()) {
                Lease lease = locks.named(NAME).acquire();
                CompletableFuture<Void> renewal = lease.renewAsync();
                store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
                assertThat(renewal).isCompletedExceptionally();
                lease.close();
                runtime.passesInWaits();
            }
        });
        assertThat(log).doesNotContain("ERROR");
    }

    /** After a suspension, a lease is invalid until a renewal confirms it. That is no loss. */
    @Test
    void aLossIsLoggedAlthoughTheLeaseWasUnconfirmedBefore() throws InterruptedException {
        StillRuntime runtime = new StillRuntime();
        SilentStore store = new SilentStore();
        store.answersAtOnce(asked -> new AcquireReply.Granted(
                new Grant(asked.owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
        String log = logged(unused -> {
            LockClient locks = Leasehold.builder().store(store).runtime(runtime).connect();
            Lease lease = locks.named(NAME).acquire();
            runtime.suspend(Duration.ofHours(1));
            assertThat(lease.isValid()).isFalse();
            runtime.pass(Duration.ofMillis(200));
            store.renewals()
                    .get(0)
                    .answer()
                    .complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
            assertThat(lease.isValid()).isTrue();
            store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
            lease.close();
            lease.close();
        });
        assertThat(log.lines().filter(line -> line.contains("ERROR")))
                .singleElement()
                .asString()
                .contains("cause=SESSION_LOST");
    }

    @Test
    void aSecondCloseLogsALossNoSecondTime() throws InterruptedException {
        assertThat(errors(locks -> {
                    Lease lease = locks.named(NAME).acquire();
                    lose(locks);
                    lease.close();
                    lease.close();
                }))
                .isOne();
    }

    /** The outcome notifies a caller that releases explicitly. */
    @Test
    void aLossThatTheReleaseTellsIsNotLogged() throws InterruptedException {
        assertThat(errors(locks -> {
                    Lease lease = locks.named(NAME).acquire();
                    lose(locks);
                    assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
                    lease.close();
                }))
                .isZero();
    }
}
