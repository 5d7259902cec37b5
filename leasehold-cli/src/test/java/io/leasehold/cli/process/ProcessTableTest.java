package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.cli.process.ProcessTable.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the tables that are read from {@code ps}, and from this machine. */
@Tag("quick")
class ProcessTableTest {

    @Test
    void readsTheRowsOfPsWithoutZombiesAndWithoutPsItself() {
        assertThat(ProcessTable.Ps.parsed(
                        "    1     0     1     1 Ss\n   20     1    18    17 S\n  21 20 18 17 Z+\n 22 1 22 17 R\n", 22))
                .containsExactly(new Row(1, 0, 1, 1, 0), new Row(20, 1, 18, 17, 0));
    }

    /** The output has the form of macOS. */
    @Test
    void takesTheGroupForASessionThatIsNotTold() {
        assertThat(ProcessTable.Ps.parsed("20 1 18 0 S\n21 1 19 ffffff8012345678 S\n", 0))
                .containsExactly(new Row(20, 1, 18, 18, 0), new Row(21, 1, 19, 19, 0));
    }

    /** There, everything after the first equals sign of an option is the heading of one column. */
    @Test
    void asksForEachColumnByItself(@TempDir Path directory) throws IOException {
        Path ps = program(directory, """
                columns=
                while [ $# -gt 0 ]; do
                  case $1 in -o) columns="$columns -o ${2%%=*}=" && shift ;; esac
                  shift
                done
                exec ps -A $columns
                """);
        long self = ProcessHandle.current().pid();
        assertThat(new ProcessTable.Ps(ps.toString()).row(self)).isEqualTo(new ProcessTable.Ps().row(self));
    }

    /** An empty table would mean that everything has ended. */
    @Test
    void refusesATableWithoutThisProcess(@TempDir Path directory) throws IOException {
        Path ps = program(directory, "echo 1 0 1 1 S");
        assertThatThrownBy(() -> new ProcessTable.Ps(ps.toString()).rows())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("does not show this process");
    }

    private static Path program(Path directory, String script) throws IOException {
        Path file = Files.writeString(directory.resolve("ps"), "#!/bin/sh\n" + script);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return file;
    }

    /** A process handle reports it as alive. */
    @Test
    void leavesOutWhatHasEndedAndWasNotCollected(@TempDir Path directory) throws IOException, InterruptedException {
        Path file = directory.resolve("pid");
        Process parent = Zombies.start(file);
        try {
            long zombie = Long.parseLong(Files.readString(file));
            assertThat(ProcessHandle.of(zombie)).get().matches(ProcessHandle::isAlive);

            assertThat(ProcessTable.ofThisSystem().row(zombie)).isEmpty();
            assertThat(ProcessTable.ofThisSystem().rows()).noneMatch(row -> row.pid() == zombie);
            assertThat(new ProcessTable.Ps().row(zombie)).isEmpty();
        } finally {
            parent.destroyForcibly().waitFor();
        }
    }

    @Test
    void agreesWithPsAboutThisProcess() throws IOException {
        Assumptions.assumeTrue(Files.isReadable(Path.of("/proc/self/stat")), "no /proc here");
        long self = ProcessHandle.current().pid();
        Row row = ProcessTable.ofThisSystem().row(self).orElseThrow();
        Row byPs = new ProcessTable.Ps().row(self).orElseThrow();
        assertThat(row.group()).isEqualTo(byPs.group());
        // The session is 0 in a container if it began outside: ps shows the same, and the group is used instead.
        assertThat(byPs.session()).isEqualTo(row.session() == 0 ? byPs.group() : row.session());
    }

    /** A shell catches what it has a trap for, and ignores what it has an empty one for. */
    @Test
    void knowsWhatAProcessCatches() throws IOException {
        Assumptions.assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "no /proc here");
        ProcessTable table = ProcessTable.ofThisSystem();
        Process shell = new ProcessBuilder("/bin/sh", "-c", "trap : TERM; trap '' INT; echo; read -r end").start();
        try {
            assertThat(shell.getInputStream().read()).isEqualTo('\n');
            Row row = table.row(shell.pid()).orElseThrow();
            assertThat(table.catches(row, 15)).as("TERM").isTrue();
            assertThat(table.catches(row, 2)).as("INT").isFalse();
            assertThat(table.catches(row, 10)).as("USR1").isFalse();
            assertThat(new ProcessTable.Ps().catches(row, 15)).isFalse();
        } finally {
            shell.destroyForcibly();
        }
        assertThat(table.catches(new Row(Integer.MAX_VALUE, 1, 1, 1, 0), 15))
                .as("none")
                .isFalse();
    }
}
