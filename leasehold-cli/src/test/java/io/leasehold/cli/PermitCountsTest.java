package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --take}, of counts that differ, and of operators who take a permit or change the count. */
@Tag("full")
class PermitCountsTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
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
        try (StartedCli one = PermitsTest.hold(cli, directory, "one")) {
            cli.with("LEASEHOLD_HOLDERS", PermitsTest.word(directory, "one", 2));
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
    void anOperatorTakesOneOfTwoPermits() {
        try (StartedCli one = PermitsTest.hold(cli, directory, "one");
                StartedCli two = PermitsTest.hold(cli, directory, "two")) {
            StartedCli both = cli.run("run", "-n", "--permit=2", "--take=2", "pool", "--", "true");
            assertThat(both.exitCode()).as(both.err()).isEqualTo(75);
            assertThat(cli.run("run", "-n", "pool", "--", "true").exitCode())
                    .as("the lock of that name is another")
                    .isZero();
            assertAnotherCountIsRefused();
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
        String holder = PermitsTest.word(directory, "two", 2);
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
