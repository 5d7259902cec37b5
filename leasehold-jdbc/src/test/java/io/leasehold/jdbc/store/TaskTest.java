package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A task is answered once, and what it says about its effect is true. */
@Tag("quick")
class TaskTest {

    private final StoreUnavailableException takenBack = new StoreUnavailableException("taken back", null);
    private final StoreUnavailableException unknown = new StoreUnavailableException("unknown", null);

    private final Task<Object> task = Task.writing("a test", (table, tries) -> "done", (kind, error) -> kind);

    @Test
    void beforeItsStartItIsTakenBack() {
        task.timeIsUp(takenBack, unknown);
        assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(task.start()).isFalse();
    }

    @Test
    void beforeThePointOfNoReturnItIsTakenBack() {
        assertThat(task.start()).isTrue();
        task.timeIsUp(takenBack, unknown);
        assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(task.passPointOfNoReturn()).isFalse();
        assertThat(task.startAgain()).isFalse();
    }

    @Test
    void afterThePointOfNoReturnItsOutcomeIsUnknown() {
        assertThat(task.start()).isTrue();
        assertThat(task.passPointOfNoReturn()).isTrue();
        assertThat(task.takeBack(takenBack)).isFalse();
        task.timeIsUp(takenBack, unknown);
        assertThat(task.future()).isCompletedWithValue(FailureKind.UNKNOWN);
        task.succeed("too late");
        assertThat(task.future()).isCompletedWithValue(FailureKind.UNKNOWN);
        assertThat(task.startAgain()).isFalse();
    }

    @Test
    void aTransactionThatWasRolledBackMayBeginAgain() {
        assertThat(task.start()).isTrue();
        assertThat(task.passPointOfNoReturn()).isTrue();
        assertThat(task.startAgain()).isTrue();
        task.timeIsUp(takenBack, unknown);
        assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
    }

    @Test
    void onceAnAnswerWasLostItsOutcomeIsUnknown() {
        assertThat(task.start()).isTrue();
        assertThat(task.passPointOfNoReturn()).isTrue();
        task.answerWasLost();
        assertThat(task.startAgain()).isTrue();
        assertThat(task.takeBack(takenBack)).isTrue();
        assertThat(task.future()).isCompletedWithValue(FailureKind.UNKNOWN);
    }

    /** Its time is up while it stands aside, and what undoes it may be carried out before its turn comes. */
    @Test
    void onceAnsweredItIsNotTakenUpAgain() {
        AtomicReference<Task<Object>> late = new AtomicReference<>();
        late.set(Task.writing("a test", (table, tries) -> "done", (kind, error) -> {
            // The timer's thread has seen it committing, and the worker is faster.
            assertThat(late.get().giveWay()).isTrue();
            return kind;
        }));
        assertThat(late.get().start()).isTrue();
        assertThat(late.get().passPointOfNoReturn()).isTrue();
        late.get().timeIsUp(takenBack, unknown);
        assertThat(late.get().future()).isCompletedWithValue(FailureKind.UNKNOWN);
        assertThat(late.get().start()).isFalse();
    }
}
