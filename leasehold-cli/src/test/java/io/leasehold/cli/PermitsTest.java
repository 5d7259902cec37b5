package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --permit}, and of {@code permits} and {@code ls} while permits are held; {@link PermitCountsTest} has the rest. */
@Tag("quick")
class PermitsTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    /** Starts a run that holds a permit until the file {@code end} exists; returns once its command runs. */
    static StartedCli hold(StartedCli.Setup cli, Path directory, String file) {
        StartedCli run = cli.start(
                "run",
                "--permit",
                "2",
                "pool",
                "--",
                "sh",
                "-c",
                "echo \"$LEASEHOLD_LOCK $LEASEHOLD_SLOT $LEASEHOLD_HOLDER $LEASEHOLD_FENCING_TOKEN\" > told" + file
                        + " && mv told" + file + " " + file + "; until [ -e end ]; do sleep 0.1; done");
        Await.until(
                () -> "the command; stderr: " + run.err(),
                () -> !said(directory, file).isEmpty());
        return run;
    }

    private static String said(Path directory, String file) {
        return StartedCli.read(directory.resolve(file)).strip();
    }

    /** Of the words that its command has written: name, slot, holder, token. */
    static String word(Path directory, String file, int index) {
        return said(directory, file).split(" ", -1)[index];
    }

    @Test
    void twoRunsHaveSlotsOfTheirOwn() {
        Answer none = cli.ask("permits", "pool");
        assertThat(none.exitCode()).as(none.err()).isEqualTo(69);
        try (StartedCli one = hold(cli, directory, "one");
                StartedCli two = hold(cli, directory, "two")) {
            assertThat(word(directory, "one", 0)).isEqualTo("pool");
            assertThat(word(directory, "one", 1)).isEqualTo("0");
            assertThat(word(directory, "two", 1)).isEqualTo("1");
            assertThat(Long.parseLong(word(directory, "two", 3)))
                    .isGreaterThan(Long.parseLong(word(directory, "one", 3)));

            StartedCli third = cli.run("run", "-n", "--permit=2", "pool", "--", "true");
            assertThat(third.exitCode()).isEqualTo(75);
            assertThat(third.err()).contains("permits \"pool\" are busy: held by ");
            assertSeen();

            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(one.exitCode()).as(one::err).isZero();
            assertThat(two.exitCode()).as(two::err).isZero();
        }
        assertThat(cli.ask("permits", "pool").out()).contains("held      0");
    }

    private void assertSeen() {
        Answer permits = cli.ask("permits", "pool");
        assertThat(permits.exitCode()).as(permits.err()).isZero();
        assertThat(permits.out())
                .contains("permits   pool\n", "count     2 (version 2)\n", "held      2\n")
                .containsPattern("pool +0 +2 +\\S+ +sh +[0-9.]+m?s +" + word(directory, "one", 3) + " +\\Q"
                        + word(directory, "one", 2))
                .containsPattern("pool +1 +2 +\\S+ +sh +[0-9.]+m?s +" + word(directory, "two", 3) + " +\\Q"
                        + word(directory, "two", 2));
        assertThat(cli.ask("permits", "--json", "pool").out())
                .startsWith(
                        "{\"permits\":\"pool\",\"count\":2,\"version\":2,\"held\":[{\"permits\":\"pool\",\"slot\":0,");
        assertThat(cli.ask("ls").out())
                .containsPattern("PERMITS +SLOT")
                .contains(word(directory, "one", 2), word(directory, "two", 2));
        assertThat(cli.ask("ls", "--json").out())
                .as("each line has a lock, whatever script reads it")
                .isEmpty();
        assertThat(cli.ask("ls", "--permits", "--limit", "1").out())
                .contains(word(directory, "one", 2), word(directory, "two", 2));
        assertThat(cli.ask("ls", "--permits", "--json").out().lines())
                .hasSize(2)
                .allMatch(line -> line.startsWith("{\"permits\":\"pool\",\"slot\":"));
        assertThat(cli.ask("ls", "--permits", "--json", "other*").out()).isEmpty();
    }
}
