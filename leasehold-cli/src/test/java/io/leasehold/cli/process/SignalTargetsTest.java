package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.process.ProcessTable.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the choice of the processes that receive a signal besides the group of the command, which is 10. */
@Tag("quick")
class SignalTargetsTest {

    private static final Row COMMAND = row(10, 1, 10, 10);

    private static Row row(long pid, long parent, long group, long session) {
        return new Row(pid, parent, group, session, 0);
    }

    private static List<Long> targets(Set<Long> catching, Row... others) {
        List<Row> members = new ArrayList<>(List.of(others));
        members.add(COMMAND);
        return SignalTargets.outside(members, COMMAND.pid(), row -> catching.contains(row.pid()));
    }

    /** It passes the signal on to its command, so the shell above it, even with a trap, does not matter. */
    @Test
    void timeoutReceivesItAndNotItsCommand() {
        Row timeout = row(20, 10, 20, 10);
        assertThat(targets(Set.of(10L, 20L), timeout, row(21, 20, 20, 10), row(22, 21, 20, 10)))
                .containsExactly(20L);
    }

    @Test
    void eachProcessOfAJobOfAShellReceivesItUnlessItsParentCatchesIt() {
        Row subshell = row(20, 10, 20, 10);
        assertThat(targets(Set.of(10L), subshell, row(21, 20, 20, 10), row(22, 10, 20, 10)))
                .containsExactly(20L, 21L, 22L);
    }

    @Test
    void aSessionReceivesItUnlessItsParentCatchesIt() {
        assertThat(targets(Set.of(), row(20, 10, 20, 20), row(21, 20, 20, 20))).containsExactly(20L, 21L);
        assertThat(targets(Set.of(10L), row(20, 10, 20, 20), row(21, 20, 20, 20)))
                .isEmpty();
    }

    /** The command is 31 or, below the process that adopts orphans, 41; the guardian is 30. */
    @Test
    void theProcessesOfANestedRunAreLeftToIt() {
        Row nested = row(20, 10, 10, 10);
        Row[] others = {
            nested,
            row(30, 20, 30, 30),
            row(31, 20, 31, 31),
            row(32, 31, 31, 31),
            row(40, 20, 40, 40),
            row(41, 40, 41, 41),
            row(42, 41, 42, 41),
            row(43, 40, 43, 43)
        };
        assertThat(targets(Set.of(20L), others)).isEmpty();
    }

    /** No process would pass it on. */
    @Test
    void anOrphanReceivesIt() {
        assertThat(targets(Set.of(10L), row(20, 1, 20, 20))).containsExactly(20L);
    }

    @Test
    void aTableWithACircleHasAnEnd() {
        assertThat(targets(Set.of(), row(20, 21, 20, 20), row(21, 20, 21, 21))).containsExactly(20L, 21L);
    }
}
