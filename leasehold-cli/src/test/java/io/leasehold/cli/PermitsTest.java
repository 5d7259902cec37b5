package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --permit}, of {@code permits}, and of {@code ls} while permits are held. */
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
    private StartedCli hold(String file) {
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
        Await.until(() -> "the command; stderr: " + run.err(), () -> !said(file).isEmpty());
        return run;
    }

    private String said(String file) {
        return StartedCli.read(directory.resolve(file)).strip();
    }

    private String word(String file, int index) {
        return said(file).split(" ", -1)[index];
    }

    @Test
    void aRunTakesSeveralPermitsAtOnce() {
        StartedCli run = cli.run(
                "run",
                "--permit=2",
                "--take=2",
                "pool",
                "--",
                "sh",
                "-c",
                "echo \"${LEASEHOLD_SLOT-none}:$LEASEHOLD_SLOTS:$LEASEHOLD_FENCING_TOKENS:$LEASEHOLD_FENCING_TOKEN\"");
        assertThat(run.exitCode()).as(run.err()).isZero();
        String[] said = run.out().strip().split(":", -1);
        assertThat(said[0]).isEqualTo("none");
        assertThat(said[1]).isEqualTo("0 1");
        assertThat(said[2].split(" ", -1)).hasSize(2).doesNotHaveDuplicates().contains(said[3]);
        try (StartedCli one = hold("one")) {
            cli.with("LEASEHOLD_HOLDERS", word("one", 2));
            StartedCli inside = cli.run("run", "--permit=2", "--take=2", "pool", "--", "true");
            assertThat(inside.exitCode()).as(inside.err()).isEqualTo(64);
            assertThat(inside.err()).contains("it would wait for itself");
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(one.exitCode()).as(one::err).isZero();
        }
        for (String take : new String[] {"0", "3"}) {
            StartedCli refused = cli.run("run", "--permit=2", "--take", take, "pool", "--", "true");
            assertThat(refused.exitCode()).isEqualTo(64);
            assertThat(refused.err()).contains("--take is " + take).contains("2 permits");
        }
        assertThat(cli.run("run", "--take=2", "pool", "--", "true").err()).contains("--take needs --permit");
    }

    @Test
    void twoRunsHaveSlotsOfTheirOwn() {
        Answer none = cli.ask("permits", "pool");
        assertThat(none.exitCode()).as(none.err()).isEqualTo(69);
        try (StartedCli one = hold("one");
                StartedCli two = hold("two")) {
            assertThat(word("one", 0)).isEqualTo("pool");
            assertThat(word("one", 1)).isEqualTo("0");
            assertThat(word("two", 1)).isEqualTo("1");
            assertThat(Long.parseLong(word("two", 3))).isGreaterThan(Long.parseLong(word("one", 3)));

            StartedCli both = cli.run("run", "-n", "--permit=2", "--take=2", "pool", "--", "true");
            assertThat(both.exitCode()).as(both.err()).isEqualTo(75);
            StartedCli third = cli.run("run", "-n", "--permit=2", "pool", "--", "true");
            assertThat(third.exitCode()).isEqualTo(75);
            assertThat(third.err()).contains("permits \"pool\" are busy: held by ");
            assertThat(cli.run("run", "-n", "pool", "--", "true").exitCode())
                    .as("the lock of that name is another")
                    .isZero();
            assertAnotherCountIsRefused();
            assertSeen();
            assertHinted();
            assertTaken();

            assertThat(two.exitCode())
                    .as("the holder is notified, and its command ends")
                    .isEqualTo(76);
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(one.exitCode()).as(one::err).isZero();
        }
        assertThat(cli.ask("permits", "pool").out()).contains("held      0");
    }

    private void assertAnotherCountIsRefused() {
        StartedCli other = cli.run("run", "-n", "--permit", "3", "pool", "--", "true");
        assertThat(other.exitCode()).isEqualTo(64);
        assertThat(other.err()).contains("a count of 3", "keeps 2");
    }

    private void assertSeen() {
        Answer permits = cli.ask("permits", "pool");
        assertThat(permits.exitCode()).as(permits.err()).isZero();
        assertThat(permits.out())
                .contains("permits   pool\n", "count     2 (version 2)\n", "held      2\n")
                .containsPattern("pool +0 +2 +\\S+ +sh +[0-9.]+m?s +" + word("one", 3) + " +\\Q" + word("one", 2))
                .containsPattern("pool +1 +2 +\\S+ +sh +[0-9.]+m?s +" + word("two", 3) + " +\\Q" + word("two", 2));
        assertThat(cli.ask("permits", "--json", "pool").out())
                .startsWith(
                        "{\"permits\":\"pool\",\"count\":2,\"version\":2,\"held\":[{\"permits\":\"pool\",\"slot\":0,");
        assertThat(cli.ask("ls").out()).containsPattern("PERMITS +SLOT").contains(word("one", 2), word("two", 2));
        assertThat(cli.ask("ls", "--json").out())
                .as("each line has a lock, whatever script reads it")
                .isEmpty();
        assertThat(cli.ask("ls", "--permits", "--limit", "1").out()).contains(word("one", 2), word("two", 2));
        assertThat(cli.ask("ls", "--permits", "--json").out().lines())
                .hasSize(2)
                .allMatch(line -> line.startsWith("{\"permits\":\"pool\",\"slot\":"));
        assertThat(cli.ask("ls", "--permits", "--json", "other*").out()).isEmpty();
    }

    /** The lock of the name is free. What is about that lock says that its permits are held. */
    private void assertHinted() {
        String hint = "2 of 2 permits of that name are held: leasehold permits pool";
        Answer show = cli.ask("show", "pool");
        assertThat(show.exitCode()).isEqualTo(1);
        assertThat(show.out()).contains("state     free\n", "permits   " + hint + "\n");
        Answer who = cli.ask("who", "pool");
        assertThat(who.exitCode()).isEqualTo(1);
        assertThat(who.out()).isEmpty();
        assertThat(who.err()).contains("the lock is free; " + hint);
        Answer release = cli.ask("release", "--force", "pool");
        assertThat(release.exitCode()).isEqualTo(1);
        assertThat(release.out()).contains("there is nothing to release; " + hint);
        assertThat(cli.ask("who", "other").err()).isEmpty();
    }

    private void assertTaken() {
        String holder = word("two", 2);
        assertThat(cli.ask("permits", "pool", "--release", "1").exitCode()).isEqualTo(64);
        assertThat(cli.ask("permits", "pool", "--release", "1", "--holder", "other")
                        .exitCode())
                .isEqualTo(1);
        Answer dry = cli.ask("permits", "pool", "--release", "1", "--holder", holder);
        assertThat(dry.exitCode()).isZero();
        assertThat(dry.out()).contains("with --yes");
        Answer taken = cli.ask("permits", "pool", "--release", "1", "--holder", holder, "--yes");
        assertThat(taken.exitCode()).as(taken.err()).isZero();
        assertThat(taken.out()).contains("was released");
        assertThat(taken.err()).contains("audit", holder);
        assertThat(cli.ask("permits", "pool", "--release", "1", "--force", "--yes")
                        .exitCode())
                .isEqualTo(1);
    }

    @Test
    void anOperatorChangesTheCount() {
        assertThat(cli.run("run", "--permit", "2", "pool", "--", "true").exitCode())
                .isZero();
        Answer dry = cli.ask("permits", "pool", "--count", "3");
        assertThat(dry.exitCode()).isZero();
        assertThat(dry.out()).contains("a count of 2", "with --yes");
        assertThat(cli.run("run", "--permit", "2", "pool", "--", "true").exitCode())
                .isZero();
        Answer changed = cli.ask("permits", "pool", "--count", "3", "--yes");
        assertThat(changed.exitCode()).as(changed.err()).isZero();
        assertThat(cli.run("run", "--permit", "2", "pool", "--", "true").exitCode())
                .isEqualTo(64);
        assertThat(cli.run("run", "--permit", "3", "pool", "--", "true").exitCode())
                .isZero();
        assertThat(cli.ask("permits", "pool", "--count", "3", "--yes").exitCode())
                .isEqualTo(1);
        assertThat(cli.ask("permits", "pool", "--count", "0", "--yes").exitCode())
                .isEqualTo(64);
        assertThat(cli.run("run", "--permit", "0", "pool", "--", "true").exitCode())
                .isEqualTo(64);
    }
}
