package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.spi.toolkit.EntryRequests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The requests for an entry: one after the other, with a removal that is repeated until nothing of the entry is left.
 */
@Tag("quick")
class EntryRequestsTest {

    private final StillRuntime runtime = new StillRuntime();
    private final List<CompletableFuture<Boolean>> removals = new ArrayList<>();
    private final AtomicInteger over = new AtomicInteger();
    private boolean goneByItself;
    private final EntryRequests requests = new EntryRequests(
            runtime,
            () -> {
                CompletableFuture<Boolean> removal = new CompletableFuture<>();
                removals.add(removal);
                return removal;
            },
            () -> goneByItself,
            over::incrementAndGet);

    private void failLast() {
        removals.get(removals.size() - 1).completeExceptionally(new IllegalStateException("no answer"));
    }

    @Test
    void aStepIsTakenWhenTheOneBeforeHasEndedHoweverItEnded() {
        CompletableFuture<String> slow = new CompletableFuture<>();
        CompletableFuture<String> first = requests.inTurn(() -> slow);
        CompletableFuture<String> second = requests.inTurn(() -> CompletableFuture.completedFuture("second"));
        CompletableFuture<Boolean> removal = requests.remove();
        assertThat(second).isNotDone();
        assertThat(removals).isEmpty();
        slow.completeExceptionally(new IllegalStateException("no answer"));
        assertThat(first).isCompletedExceptionally();
        assertThat(second).isCompletedWithValue("second");
        assertThat(removals).hasSize(1);
        assertThat(removal).isNotDone();
    }

    @Test
    @SuppressWarnings("FutureReturnValueIgnored")
    void aStepThatHandsInAnotherHoldsNoLockAndComesBeforeIt() {
        CompletableFuture<String> slow = new CompletableFuture<>();
        List<String> taken = new ArrayList<>();
        CompletableFuture<String> outer = requests.inTurn(() -> {
            taken.add("outer");
            assertThat(Thread.holdsLock(requests)).isFalse();
            requests.inTurn(() -> {
                taken.add("inner");
                return CompletableFuture.completedFuture(null);
            });
            return slow;
        });
        requests.inTurn(() -> {
            taken.add("next");
            return CompletableFuture.completedFuture(null);
        });
        assertThat(taken).containsExactly("outer");
        slow.complete("done");
        assertThat(taken).containsExactly("outer", "inner", "next");
        assertThat(outer).isCompletedWithValue("done");
    }

    @Test
    void aTimerThatCannotBeHadDoesNotEndTheRepetitions() {
        CompletableFuture<Boolean> removal = requests.remove();
        runtime.failToStart(1);
        failLast();
        assertThat(removal).isCompletedExceptionally();
        runtime.pass(Duration.ofSeconds(10));
        assertThat(removals).as("no timer was armed").hasSize(1);
        CompletableFuture<Boolean> again = requests.remove();
        failLast();
        assertThat(again).isCompletedExceptionally();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(removals).hasSize(3);
    }

    @Test
    void aRemovalThatIsAnsweredIsTheLast() {
        CompletableFuture<Boolean> removal = requests.remove();
        removals.get(0).complete(true);
        assertThat(removal).isCompletedWithValue(true);
        assertThat(over).hasValue(1);
        runtime.pass(Duration.ofSeconds(100));
        assertThat(removals).hasSize(1);
    }

    @Test
    void aRemovalThatFailsIsRepeatedUntilItIsAnswered() {
        CompletableFuture<Boolean> removal = requests.remove();
        for (int failed = 1; failed <= 5; failed++) {
            failLast();
            assertThat(over).hasValue(0);
            assertThat(removals).hasSize(failed);
            runtime.pass(Duration.ofSeconds(1));
            assertThat(removals).hasSize(failed + 1);
        }
        removals.get(5).complete(true);
        assertThat(over).hasValue(1);
        assertThatThrownBy(removal::join).hasRootCauseMessage("no answer");
    }

    @Test
    void oneRepetitionIsDueAtATimeHoweverOftenTheRemovalIsAskedFor() {
        CompletableFuture<Boolean> removal = requests.remove();
        failLast();
        CompletableFuture<Boolean> again = requests.remove();
        failLast();
        assertThat(removal).isCompletedExceptionally();
        assertThat(again).isCompletedExceptionally();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(removals).hasSize(3);
        runtime.pass(Duration.ofSeconds(10));
        assertThat(removals).as("it is under way").hasSize(3);
    }

    @Test
    void whatIsGoneByItselfIsRemovedNoMore() {
        CompletableFuture<Boolean> removal = requests.remove();
        goneByItself = true;
        failLast();
        assertThat(removal).isCompletedExceptionally();
        assertThat(over).hasValue(1);
        runtime.pass(Duration.ofSeconds(10));
        assertThat(removals).hasSize(1);
    }
}
