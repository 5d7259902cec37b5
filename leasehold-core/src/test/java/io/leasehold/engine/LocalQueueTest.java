package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each rule of the queue of one name. */
@Tag("quick")
final class LocalQueueTest {

    private final LocalQueue<String, Object> queue = new LocalQueue<>();
    private final Object grant = new Object();

    @Test
    void onlyTheFirstContendsAtOnce() {
        assertThat(queue.enter("a")).isTrue();
        assertThat(queue.enter("b")).isFalse();
        assertThat(queue.all()).containsExactly("a", "b");
    }

    @Test
    void noneContendsAtOnceWhileTheLockIsHeldHere() {
        queue.granted(grant, 7);
        assertThat(queue.enter("a")).isFalse();
        assertThat(queue.first()).isEqualTo("a");
        assertThat(queue.held()).isSameAs(grant);
    }

    @Test
    void theNextIsFirstWhenTheFirstLeaves() {
        queue.enter("a");
        queue.enter("b");
        queue.leave("a");
        assertThat(queue.first()).isEqualTo("b");
    }

    @Test
    void itIsDesertedWithoutAContenderAndAGrant() {
        queue.enter("a");
        assertThat(queue.isEmpty()).isFalse();
        queue.granted(grant, 1);
        queue.leave("a");
        assertThat(queue.isEmpty()).isFalse();
        queue.ended(grant);
        assertThat(queue.isEmpty()).isTrue();
    }

    /** Only then, the grant alone tells what the queue does. */
    @Test
    void aGrantForWhichNobodyWaitsIsAllThereIsToKnow() {
        assertThat(queue.onlyHeld()).isNull();
        queue.enter("a");
        queue.granted(grant, 1);
        assertThat(queue.onlyHeld()).as("an attempt waits").isNull();
        queue.leave("a");
        assertThat(queue.onlyHeld()).isSameAs(grant);
        queue.beginSettling();
        assertThat(queue.onlyHeld()).as("a thread settles the queue").isNull();
        queue.nextContender();
        queue.continueSettling(true);
        assertThat(queue.onlyHeld()).isSameAs(grant);
        queue.beginAwaiting(grant);
        assertThat(queue.onlyHeld())
                .as("the timer of its hand-over is armed: another is not needed")
                .isNull();
    }

    /** The queue of the next grant keeps nothing of the one for which an attempt waited. */
    @Test
    void aGrantThatHasEndedIsAwaitedNoMore() {
        Object next = new Object();
        queue.granted(grant, 1);
        queue.enter("a");
        queue.beginAwaiting(grant);
        queue.ended(grant);
        queue.granted(next, 2);
        queue.leave("a");
        assertThat(queue.onlyHeld()).isSameAs(next);
    }

    @Test
    void anEarlierGrantThatEndsLateIsNotTheOneThatIsHeld() {
        Object later = new Object();
        queue.granted(grant, 5);
        queue.granted(later, 6);
        queue.ended(grant);
        assertThat(queue.held()).isSameAs(later);
    }

    @Test
    void theHighestTokenIsRemembered() {
        queue.granted(grant, 9);
        queue.granted(grant, 4);
        assertThat(queue.seenToken()).isEqualTo(9);
    }

    @Test
    void tokensAreReservedOnlyIfAnotherWaits() {
        queue.enter("a");
        assertThat(queue.reserve()).isOne();
        queue.enter("b");
        assertThat(queue.reserve()).isEqualTo(64);
    }

    @Test
    void oneSettlesAndLooksAgainForTheOthers() {
        queue.enter("a");
        assertThat(queue.beginSettling()).isTrue();
        assertThat(queue.nextContender()).isEqualTo("a");
        assertThat(queue.beginSettling()).as("another does").isFalse();
        assertThat(queue.continueSettling(true)).as("for the other").isTrue();
        queue.nextContender();
        assertThat(queue.continueSettling(true)).isFalse();
        assertThat(queue.beginSettling()).as("none does").isTrue();
    }

    @Test
    void aLookThatFailsEndsTheSettling() {
        queue.beginSettling();
        assertThat(queue.continueSettling(false)).isFalse();
        assertThat(queue.beginSettling()).isTrue();
    }

    @Test
    void aGrantNeedsOneTimerHoweverManyWaitForIt() {
        assertThat(queue.beginAwaiting(grant)).isTrue();
        assertThat(queue.beginAwaiting(grant)).isFalse();
        assertThat(queue.beginAwaiting(new Object())).isTrue();
    }
}
