package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.toolkit.Failure;
import io.leasehold.spi.toolkit.TimeLimit;
import io.leasehold.spi.toolkit.TimedReplies;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each verb passes the answer on, and converts an error or a missing answer into the store's own errors. */
@Tag("quick")
final class TimedRepliesTest {

    private static final LockName NAME = LockName.exactly("order:1");
    private static final OwnerToken OWNER = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");
    private static final long TTL = Duration.ofSeconds(30).toNanos();
    private static final long LIMIT = 1_000;

    private final HandClock clock = new HandClock();
    /** The error that the translation of errors throws, if any. */
    private Error untranslatable;

    private final TimedReplies replies = new TimedReplies(clock, new Words());

    private final class Words implements TimedReplies.Errors {
        @Override
        public Failure of(String what, Throwable error) {
            failIfTold();
            return new Failure(
                    FailureKind.PERMANENT, new StoreAccessException(what + " failed: " + error.getMessage(), error));
        }

        @Override
        public LockStoreException late(String what, long limitNanos) {
            failIfTold();
            return new StoreUnavailableException(what + " was not answered within " + limitNanos, null);
        }
    }

    private void failIfTold() {
        if (untranslatable != null) {
            throw untranslatable;
        }
    }

    /** For example, a class of the driver is missing: the caller is notified, and does not wait forever. */
    @Test
    void anErrorThatCannotBeTranslatedIsTheAnswer() {
        untranslatable = new NoClassDefFoundError("made by the test");
        assertThat(replies.acquire(acquire(), TimedRepliesTest::broken)).isCompletedExceptionally();
        assertThat(replies.renew(item(), LIMIT, TimedRepliesTest::broken)).isCompletedExceptionally();
        assertThat(replies.release(release(), TimedRepliesTest::broken)).isCompletedExceptionally();
        assertThat(replies.orFail("list", LIMIT, TimedRepliesTest::broken)).isCompletedExceptionally();
        assertThat(clock.armed()).isZero();
        CompletableFuture<AcquireReply> late = replies.acquire(acquire(), CompletableFuture::new);
        clock.pass(Duration.ofNanos(LIMIT));
        assertThat(late).isCompletedExceptionally();
    }

    private static <T> CompletableFuture<T> broken() {
        return CompletableFuture.failedFuture(new IllegalStateException("broken"));
    }

    @Test
    void anAnswerInTimeIsPassedOn() {
        AcquireReply busy = new AcquireReply.Busy(null, 7, List.of());
        assertThat(replies.acquire(acquire(), () -> CompletableFuture.completedFuture(busy)))
                .isCompletedWithValue(busy);
        RenewReply.Item renewed = new RenewReply.Renewed(5);
        assertThat(replies.renew(item(), LIMIT, () -> CompletableFuture.completedFuture(renewed)))
                .isCompletedWithValue(renewed);
        assertThat(replies.release(release(), () -> CompletableFuture.completedFuture(true)))
                .isCompletedWithValue(new ReleaseReply.Released());
        assertThat(replies.release(release(), () -> CompletableFuture.completedFuture(false)))
                .isCompletedWithValue(new ReleaseReply.NotOurs());
        assertThat(clock.armed()).isZero();
    }

    @Test
    void anErrorIsAFailureWithItsKindAndTheRequestWithItsLock() {
        AcquireReply.Failed acquire = (AcquireReply.Failed)
                replies.acquire(acquire(), TimedRepliesTest::broken).join();
        assertThat(acquire.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(acquire.ballot()).isZero();
        assertThat(acquire.error()).hasMessage("acquire of \"order:1\" failed: broken");
        RenewReply.Failed renewal = (RenewReply.Failed)
                replies.renew(item(), LIMIT, TimedRepliesTest::broken).join();
        assertThat(renewal.error()).hasMessage("renewal of \"order:1\" failed: broken");
        ReleaseReply.Failed release = (ReleaseReply.Failed)
                replies.release(release(), TimedRepliesTest::broken).join();
        assertThat(release.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(release.error()).hasMessage("release of [order:1] failed: broken");
    }

    @Test
    void withoutAnAnswerTheEffectIsUnknownWhenTheTimeIsUp() {
        CompletableFuture<AcquireReply> acquire = replies.acquire(acquire(), CompletableFuture::new);
        CompletableFuture<RenewReply.Item> renewal = replies.renew(item(), LIMIT, CompletableFuture::new);
        CompletableFuture<ReleaseReply> release = replies.release(release(), CompletableFuture::new);
        clock.pass(Duration.ofNanos(LIMIT - 1));
        assertThat(new ArrayList<CompletableFuture<?>>(List.of(acquire, renewal, release)))
                .noneMatch(CompletableFuture::isDone);
        clock.pass(Duration.ofNanos(1));
        assertThat((AcquireReply.Failed) acquire.join()).satisfies(failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.ballot()).isZero();
            assertThat(failed.error()).hasMessage("acquire of \"order:1\" was not answered within 1000");
        });
        assertThat(((RenewReply.Failed) renewal.join()).error())
                .hasMessage("renewal of \"order:1\" was not answered within 1000");
        assertThat((ReleaseReply.Failed) release.join()).satisfies(failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error()).hasMessage("release of [order:1] was not answered within 1000");
        });
    }

    @Test
    void anAttemptThatIsToldBusyIsEnded() {
        List<String> ended = new ArrayList<>();
        AcquireReply busy = new AcquireReply.Busy(null, 7, List.of());
        assertThat(replies.acquire(acquire(), () -> CompletableFuture.completedFuture(busy), () -> ended.add("busy")))
                .isCompletedWithValue(busy);
        assertThat(ended).containsExactly("busy");
        AcquireReply queued = new AcquireReply.Queued(null, 7, List.of());
        assertThat(replies.acquire(acquire(), () -> CompletableFuture.completedFuture(queued), () -> ended.add("no")))
                .isCompletedWithValue(queued);
        assertThat(replies.acquire(acquire().waiting(LIMIT), TimedRepliesTest::broken, () -> ended.add("no")))
                .as("a waiter may ask again")
                .isDone();
        assertThat(ended).hasSize(1);
    }

    /** No request of it follows, and the engine has nothing to undo. */
    @Test
    void anAttemptThatDoesNotWaitAndFailsForCertainIsEnded() {
        List<String> ended = new ArrayList<>();
        assertThat(replies.acquire(acquire(), TimedRepliesTest::broken, () -> ended.add("failed")))
                .isDone();
        assertThat(ended).containsExactly("failed");
        CompletableFuture<AcquireReply> late =
                replies.acquire(acquire(), CompletableFuture::new, () -> ended.add("unknown"));
        clock.pass(Duration.ofNanos(LIMIT));
        assertThat(late).isDone();
        assertThat(ended).as("an unknown outcome is undone by the engine").hasSize(1);
    }

    @Test
    void anAdministrativeRequestFailsWithTheStoresWords() {
        assertThat(replies.orFail("list", LIMIT, () -> CompletableFuture.completedFuture(7)))
                .isCompletedWithValue(7);
        assertThat(clock.armed()).isZero();
        assertThatThrownBy(() ->
                        replies.orFail("list", LIMIT, TimedRepliesTest::broken).join())
                .hasCauseInstanceOf(StoreAccessException.class)
                .hasMessageContaining("list failed: broken");
        CompletableFuture<Integer> late = replies.orFail("list", LIMIT, CompletableFuture::new);
        clock.pass(Duration.ofNanos(LIMIT - 1));
        assertThat(late).isNotDone();
        clock.pass(Duration.ofNanos(1));
        assertThatThrownBy(late::join).hasMessageContaining("list was not answered within 1000");
    }

    @Test
    void whoWaitsForAnAnswerIsToldOfItsFailureAsItIs() {
        assertThat(TimeLimit.<Integer>await(clock, CompletableFuture.completedFuture(7), "asking"))
                .isEqualTo(7);
        StoreAccessException known = new StoreAccessException("no right", null);
        assertThatThrownBy(() -> TimeLimit.await(clock, CompletableFuture.failedFuture(known), "asking"))
                .isSameAs(known);
        assertThatThrownBy(() -> TimeLimit.await(clock, broken(), "asking"))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("asking failed", "broken");
    }

    @Test
    void aThreadThatIsInterruptedWhileItWaitsStaysInterrupted() {
        clock.interruptsNextWait = true;
        assertThatThrownBy(() -> TimeLimit.await(clock, new CompletableFuture<>(), "asking"))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("interrupted while asking");
        assertThat(Thread.interrupted()).isTrue();
    }

    private static AcquireRequest acquire() {
        return AcquireRequest.exclusive(List.of(NAME), OWNER, "host/1/x", TTL, LIMIT);
    }

    private static RenewBatch.Item item() {
        return new RenewBatch.Item(NAME, OWNER, TTL);
    }

    private static ReleaseRequest release() {
        return new ReleaseRequest(List.of(NAME), OWNER, 0, ReleaseRequest.Kind.RELEASE, LIMIT);
    }
}
