package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A task is answered once, and its answer about its effect is true. */
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

    /** Its time limit passes while it stands aside, and its undo may be carried out before its turn comes. */
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

    private static Task<Object> renewal() {
        return Task.renewing("a renewal", (table, tries) -> "done", (kind, error) -> kind);
    }

    private static void giveWay(Task<?> task) {
        assertThat(task.start()).isTrue();
        assertThat(task.giveWay()).isTrue();
    }

    /** A renewal waits for rows only at its second try, a request only at its first, and periodic work never. */
    @Test
    void whoWaitsForRowsDependsOnTheRankAndTheTry() {
        Task<Object> renewal = renewal();
        Task<Object> house = Task.keepingHouse("a deletion", (table, tries) -> "done");
        Task<Object> look = Task.reading("a look", (table, tries) -> "done");
        assertThat(renewal.rank()).isEqualTo(Task.Rank.RENEWAL);
        assertThat(task.rank()).isEqualTo(Task.Rank.REQUEST);
        assertThat(look.rank()).isEqualTo(Task.Rank.REQUEST);
        assertThat(house.rank()).isEqualTo(Task.Rank.HOUSEKEEPING);
        assertThat(List.of(renewal.writes(), task.writes(), house.writes(), look.writes()))
                .containsExactly(true, true, true, false);
        assertThat(List.of(renewal.isPatient(), task.isPatient(), house.isPatient()))
                .containsExactly(false, true, false);
        List.of(renewal, task, house).forEach(TaskTest::giveWay);
        assertThat(List.of(renewal.isPatient(), task.isPatient(), house.isPatient()))
                .containsExactly(true, false, false);
        giveWay(renewal);
        assertThat(renewal.isPatient()).isFalse();
        assertThat(renewal.tries()).isEqualTo(3);
    }

    @Test
    void oneStatementIsTriedOnceAndOnlyWhereThereIsOne() throws SQLException {
        OwnerToken owner = VerbsBench.ANN;
        Task<Object> quick = Task.acquiring(
                owner, "an acquire", (table, waitNanos) -> "at once " + waitNanos, (table, tries) -> tries, thrown());
        assertThat(quick.acquires()).isEqualTo(owner);
        assertThat(quick.hasQuickWork()).isTrue();
        try (VerbsBench bench = new VerbsBench(H2Dialect.dialect(), "jdbc:h2:mem:" + UUID.randomUUID())) {
            assertThat(quick.runQuickly(bench.table, 7)).isEqualTo("at once 7");
            assertThat(task.runQuickly(bench.table, 7)).isNull();
            giveWay(quick);
            assertThat(quick.run(bench.table)).as("how often it was begun").isEqualTo(2);
        }
        assertThat(quick.hasQuickWork()).isFalse();
        assertThat(task.hasQuickWork()).isFalse();
        assertThat(task.acquires()).isNull();
    }

    private static Task.OnFailure<Object> thrown() {
        return (kind, error) -> {
            throw error;
        };
    }

    /** The owner token may be released by then, so the current transaction is the last one of the task. */
    @Test
    void whatIsWithdrawnWhileItCommitsIsTakenBackWhenThatIsUndone() {
        for (boolean givesWay : new boolean[] {false, true}) {
            Task<Object> committing = renewal();
            assertThat(committing.start()).isTrue();
            assertThat(committing.passPointOfNoReturn()).isTrue();
            committing.withdraw(takenBack);
            assertThat(committing.future()).isNotDone();
            assertThat(givesWay ? committing.giveWay() : committing.startAgain())
                    .isFalse();
            assertThat(committing.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
            assertThat(committing.start()).isFalse();
        }
    }

    @Test
    void whatIsWithdrawnWhileItWaitsIsTakenBackAtOnceAndNotBegun() {
        task.withdraw(takenBack);
        assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(task.start()).isFalse();
        Task<Object> aside = renewal();
        giveWay(aside);
        aside.withdraw(takenBack);
        assertThat(aside.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(aside.start()).isFalse();
    }

    /** Its effect counts, even if it was withdrawn meanwhile. */
    @Test
    void whatIsWithdrawnWhileItCommitsMaySucceed() {
        assertThat(task.start()).isTrue();
        assertThat(task.passPointOfNoReturn()).isTrue();
        task.withdraw(takenBack);
        task.succeed("done");
        assertThat(task.future()).isCompletedWithValue("done");
        assertThat(task.giveWay()).isFalse();
    }

    @Test
    void aFailureWithoutAnAnswerFailsTheFutureAndOnlyTheFirstCounts() {
        Task<Object> look = Task.reading("a look", (table, tries) -> "done");
        look.fail(FailureKind.PERMANENT, unknown);
        assertThatThrownBy(() -> look.future().join()).hasCause(unknown);
        task.fail(FailureKind.PERMANENT, unknown);
        task.fail(FailureKind.NO_EFFECT, takenBack);
        assertThat(task.future()).isCompletedWithValue(FailureKind.PERMANENT);
        assertThat(task.startAgain()).isFalse();
        assertThat(task.what()).isEqualTo("a test");
    }

    /** A read does not commit, so only its end prevents its withdrawal. */
    @Test
    void whatIsOverIsNotTakenBack() {
        for (boolean succeeds : new boolean[] {true, false}) {
            Task<Object> look = Task.reading("a look", (table, tries) -> "done", (kind, error) -> kind);
            assertThat(look.start()).isTrue();
            if (succeeds) {
                look.succeed("done");
            } else {
                look.fail(FailureKind.PERMANENT, unknown);
            }
            assertThat(look.takeBack(takenBack)).isFalse();
        }
    }
}
