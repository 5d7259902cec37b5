package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the output of {@code ls}, {@code show} and {@code who} while a run holds a lock, and without a holder. */
@Tag("quick")
class ListShowWhoTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;
    private String store;

    @BeforeEach
    void useAStoreOfOurOwn() {
        store = "sqlite:" + directory.resolve("locks.db");
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
    }

    /** Starts a run that holds the lock until the file {@code end} exists; returns once its command runs. */
    private StartedCli hold(String lock) {
        StartedCli run = cli.start(
                "run",
                lock,
                "--",
                "sh",
                "-c",
                "echo \"$LEASEHOLD_HOLDER $LEASEHOLD_FENCING_TOKEN\" > told && mv told holder;"
                        + " until [ -e end ]; do sleep 0.1; done");
        Await.until(
                () -> "the command; stderr: " + run.err(), () -> !said("holder").isEmpty());
        return run;
    }

    private String said(String file) {
        return StartedCli.read(directory.resolve(file)).strip();
    }

    private static String user() {
        return System.getProperty("user.name").replaceAll("[^A-Za-z0-9_-]", "_");
    }

    @Test
    void tellWhoHoldsALock() {
        try (StartedCli run = hold("nightly report")) {
            String holder = said("holder").split(" ", -1)[0];
            String token = said("holder").split(" ", -1)[1];

            assertSays(0, cli.ask("who", "--id", "nightly report"), holder);
            tellsTheWholeAnswer(holder, token);
            assertThat(cli.ask("ls").out().lines().toList()).hasSize(2).satisfies(lines -> {
                assertThat(lines.get(0)).matches("LOCK +USER +COMMAND +SINCE +WAITERS +LEFT +TOKEN +HOLDER");
                assertThat(lines.get(1))
                        .matches("nightly report +" + user() + " +sh +[-0-9:TZ]+ +- +[0-9.]+m?s +" + token + " +\\Q"
                                + holder + "\\E");
            });
            assertThat(cli.ask("ls", "--json", "night*").out())
                    .matches("\\{\"lock\":\"nightly report\",\"holder\":\\{\"id\":\"\\Q" + holder
                            + "\\E\".*\"user\":\"" + user() + "\",\"command\":\"sh\"},\"since\":\"[-0-9:.TZ]+\","
                            + "\"waiters\":null}\n");
            assertSays(0, cli.ask("ls", "--json", "other*"));
            Answer show = cli.ask("show", "nightly report");
            assertThat(show.exitCode()).isZero();
            assertThat(show.out())
                    .contains(
                            "state     held",
                            "holder    " + holder,
                            "token     " + token,
                            "promises  ",
                            "waiters   not known");
            assertThat(cli.ask("show", "--json", "nightly report").out())
                    .startsWith("{\"lock\":\"nightly report\",\"store\":\"")
                    .contains("\"holder\":{\"id\":\"" + holder + "\"");

            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(run.exitCode()).as(run::err).isZero();
        }
        assertNobodyHolds("nightly report");
    }

    /** The hold lasts for more than a second, so its client has written a record. */
    private void tellsTheWholeAnswer(String holder, String token) {
        String pid = holder.split("/", -1)[1];
        Await.until(
                () -> "a record of the holder; last: "
                        + cli.ask("who", "nightly report").out(),
                () -> cli.ask("who", "nightly report").out().contains("process   " + pid + " on "));
        Answer who = cli.ask("who", "nightly report");
        assertThat(who.exitCode()).isZero();
        assertThat(who.out())
                .contains(
                        "holder    " + holder + "\n",
                        "token     " + token + "\n",
                        "left      ",
                        "command   sh\n",
                        "user      " + user() + "\n",
                        "since     ",
                        "renewals  ",
                        "waiters   not known: this store keeps no queue\n",
                        "health    alive: its client last reported ",
                        "leasehold wait 'nightly report'",
                        "leasehold release 'nightly report' --holder " + holder);
        assertThat(cli.ask("who", "--json", "nightly report").out())
                .matches("\\{\"id\":\"\\Q" + holder + "\\E\",\"fencingToken\":" + token
                        + ",\"remainingTtlMs\":\\d+,\"ends\":\"by-ttl\",\"user\":\"" + user()
                        + "\",\"command\":\"sh\",\"readers\":\\[],\"client\":\\{\"host\":.*,\"pid\":" + pid
                        + ",.*},\"waiters\":null}\n");
        assertThat(cli.ask("show", "nightly report").out()).contains("process   " + pid + " on ", "renewals  ");
    }

    @Test
    void exit1WhenNobodyEverHeldTheLock() {
        assertThat(cli.run("run", "another", "--", "true").exitCode()).isZero();
        assertNobodyHolds("never");
    }

    private void assertNobodyHolds(String lock) {
        assertSays(ExitCode.FOUND.code(), cli.ask("who", lock));
        assertSays(ExitCode.FOUND.code(), cli.ask("who", "--json", lock), "null");
        Answer show = cli.ask("show", lock);
        assertThat(show.exitCode()).isEqualTo(ExitCode.FOUND.code());
        assertThat(show.out()).contains("state     free").doesNotContain("holder", "token");
        Answer json = cli.ask("show", "--json", lock);
        assertThat(json.exitCode()).isEqualTo(ExitCode.FOUND.code());
        assertThat(json.out()).endsWith("\"holder\":null,\"readers\":[],\"client\":null,\"waiters\":null}\n");
        assertSays(0, cli.ask("ls", "--json"));
    }

    private static void assertSays(int code, Answer answer, String... lines) {
        assertThat(answer.exitCode()).as(answer::err).isEqualTo(code);
        assertThat(answer.out().lines().toList()).isEqualTo(List.of(lines));
        assertThat(answer.err()).isEmpty();
    }
}
