package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that was notified of the loss of its hold starts a new hold, with any idiom of locking and unlocking. */
@SuppressWarnings("LockNotBeforeTry")
@Tag("quick")
@Timeout(60)
final class LostReentrantHoldTest {

    private static final LockName NAME = LockName.exactly("n");

    private final LockClient client = Leasehold.connect("memory:");
    private final ReentrantLockView view = client.named(NAME).asReentrantLock();

    @AfterEach
    void close() {
        client.close();
    }

    private void lose() {
        assertThat(client.admin().forceRelease(NAME, null)).isTrue();
    }

    /** The idiom in most code that uses such a lock. */
    private void unlockIfHeld() {
        if (view.isHeldByCurrentThread()) {
            view.unlock();
        }
    }

    private boolean isHeldAtTheStore() {
        return client.admin().inspect(NAME).isPresent();
    }

    @Test
    void unlockingOnlyWhatIsHeldLeavesAThreadThatCanLockAgain() {
        view.lock();
        long lost = view.fencingToken();
        lose();
        unlockIfHeld();
        view.lock();
        assertThat(view.fencingToken()).isGreaterThan(lost);
        assertThat(view.getHoldCount()).isOne();
        unlockIfHeld();
        assertThat(isHeldAtTheStore()).isFalse();
        assertThat(view.tryLock()).isTrue();
        view.unlock();
    }

    @Test
    void aLossWhileNestedIsToldToTheInnerSectionAndForgottenByTheNext() {
        view.lock();
        view.lock();
        lose();
        assertThatThrownBy(view::lock).as("what is around it is not protected").isInstanceOf(LeaseLostException.class);
        unlockIfHeld();
        unlockIfHeld();
        assertThat(view.tryLock()).isTrue();
        assertThat(view.getHoldCount()).as("the lost levels are not counted").isOne();
        view.unlock();
        assertThat(isHeldAtTheStore()).isFalse();
        assertThat(view.getHoldCount()).isZero();
    }

    @Test
    void whoHeardByReEntryMayLockAgainAndUnlockIsItsOwn() {
        view.lock();
        lose();
        assertThatThrownBy(view::tryLock).isInstanceOf(LeaseLostException.class);
        view.lock();
        view.unlock();
        assertThat(isHeldAtTheStore()).isFalse();
        assertThatThrownBy(view::unlock)
                .as("the hold around it is no more")
                .isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void afterTheQuestionUnlockStillTellsOfTheLoss() {
        view.lock();
        lose();
        assertThat(view.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(view::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(view.tryLock()).isTrue();
        view.unlock();
    }

    @Test
    void everyViewOfTheNameHeals() {
        ReentrantLockView other =
                client.named(NAME).with(o -> o.reentryLimit(1)).asReentrantLock();
        view.lock();
        lose();
        assertThat(other.isHeldByCurrentThread()).isFalse();
        other.lock();
        assertThatThrownBy(view::lock).as("the options of the new hold count").hasMessageContaining("limit");
        view.unlock();
        assertThat(isHeldAtTheStore()).isFalse();
    }

    @Test
    void theLossOfOneThreadIsNothingToAnother() throws Exception {
        view.lock();
        lose();
        CompletableFuture<Long> other = CompletableFuture.supplyAsync(() -> {
            view.lock();
            try {
                return view.fencingToken();
            } finally {
                view.unlock();
            }
        });
        long token = other.get(30, TimeUnit.SECONDS);
        assertThatThrownBy(view::lock).as("this one has not heard yet").isInstanceOf(LeaseLostException.class);
        view.lock();
        assertThat(view.fencingToken()).isGreaterThan(token);
        view.unlock();
    }

    @Test
    void theViewTellsOfALossAsALeaseDoes() throws Exception {
        CompletableFuture<LossCause> heard = new CompletableFuture<>();
        view.lock();
        view.lock();
        view.onLost(heard::complete);
        view.renew();
        assertThat(view.remainingValidity()).isPositive();
        assertThat(view.release()).as("the outer level continues").isEmpty();
        lose();
        assertThat(heard.get(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
        assertThatThrownBy(view::renew).isInstanceOf(LeaseLostException.class);
        assertThat(view.release()).contains(ReleaseOutcome.ALREADY_LOST);
        assertThatThrownBy(view::release).isInstanceOf(IllegalMonitorStateException.class);
        view.lock();
        assertThat(view.release()).contains(ReleaseOutcome.RELEASED);
        assertThat(isHeldAtTheStore()).isFalse();
    }

    @Test
    void theThreadOfTheViewIsInterruptedByALoss() {
        view.lock();
        view.interruptOnLoss();
        lose();
        assertThatThrownBy(() -> new CompletableFuture<>().get(30, TimeUnit.SECONDS))
                .isInstanceOf(InterruptedException.class);
        unlockIfHeld();
        view.lock();
        view.unlock();
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void nothingPilesUpOfHoldsThatWereLeftBehind() {
        ReentrantHolds holds = ((EngineClient) client).attempts().reentrantHolds();
        for (int i = 0; i < 500; i++) {
            LockName name = LockName.exactly("left-" + i);
            ReentrantLockView each = client.named(name).asReentrantLock();
            each.lock();
            client.admin().forceRelease(name, null);
            assertThat(each.isHeldByCurrentThread()).isFalse();
        }
        assertThat(holds.size()).isLessThan(200);
    }
}
