package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.process.CommandLookup;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests that no process of a command runs at the same time as the next holder, even if it has left its session, its
 * group and its environment, or runs as another user. Each of them ignores TERM and writes beats to a file; its last
 * beat must come before the first one of the next holder. After a forced release another client may hold the lock at
 * once, which is the purpose: in that case the last beat must come before the lease would have ended.
 */
@Tag("full")
class RunContainmentTest {

    private static final String BEATS =
            "trap '' TERM INT HUP\necho $$ >\"$1.pid\"\nwhile :; do date +%s%N >> \"$1\"; sleep 0.02; done";

    private static final Duration TTL = Duration.ofSeconds(4);

    private static final List<String> WITH_A_PARENT = List.of("su", "runuser", "scrubbed");

    @TempDir
    private Path directory;

    private String store;

    /** An event during a run. */
    private enum Event {
        KILLED,
        STOPPED,
        RELEASED_BY_FORCE;

        /** Returns false if the run has lost its lease before it could be released by force. */
        boolean happensTo(StartedCli run, String store) {
            switch (this) {
                case KILLED -> run.signal("KILL");
                case STOPPED -> stopOutsideOfATransaction(run, store);
                case RELEASED_BY_FORCE -> {
                    try (LockClient locks = Leasehold.connect(store)) {
                        return locks.admin().forceRelease(LockName.exactly("job"), null);
                    }
                }
            }
            return true;
        }
    }

    /**
     * A process that is stopped inside a transaction of SQLite keeps the file locked, so that there is no next holder.
     */
    private static void stopOutsideOfATransaction(StartedCli run, String store) {
        run.signal("STOP");
        while (!canBeWritten(store)) {
            run.signal("CONT");
            run.signal("STOP");
        }
    }

    private static boolean canBeWritten(String store) {
        try (Connection connection = DriverManager.getConnection("jdbc:" + store);
                Statement statement = connection.createStatement()) {
            statement.execute("PRAGMA busy_timeout = 1000");
            statement.execute("BEGIN IMMEDIATE");
            statement.execute("ROLLBACK");
            return true;
        } catch (SQLException busy) {
            return false;
        }
    }

    @BeforeEach
    void needsRoot() {
        assumeTrue(
                StartedCli.shell("id -u").strip().equals("0"),
                "only root may become another user without a password: run the tests as root");
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        for (String command : List.of("su", "runuser", "setsid")) {
            assumeTrue(
                    lookup.find(command) instanceof CommandLookup.Result.Found,
                    command + " is not here: apt-get install util-linux");
        }
        StartedCli.shell("chmod 777 '" + directory + "'");
        store = "sqlite:" + directory.resolve("locks.db");
    }

    static Stream<Arguments> everyWayAndEvent() {
        return Stream.of("cgroup", "reaper", "remembered")
                .flatMap(way -> Stream.of(Event.values()).map(event -> Arguments.of(way, event)));
    }

    @ParameterizedTest
    @MethodSource("everyWayAndEvent")
    void nothingOfTheCommandRunsBesideTheNextHolder(String way, Event event) {
        if (way.equals("reaper")) {
            assumeTrue(
                    new CommandLookup(System.getenv("PATH")).find("perl") instanceof CommandLookup.Result.Found,
                    "perl, which looks after orphans, is not here: apt-get install perl-base");
        }
        List<String> escaped = new ArrayList<>(WITH_A_PARENT);
        if (!way.equals("remembered")) {
            escaped.add("orphan");
        }
        String beats = StartedCli.script(directory, "beats", BEATS);
        StringBuilder script = new StringBuilder("cd '" + directory + "'\n")
                .append("su - nobody -s /bin/sh -c 'sh " + beats + " " + directory + "/su' &\n")
                .append("runuser -l nobody -s /bin/sh -c 'sh " + beats + " " + directory + "/runuser' &\n")
                .append("env -i setsid --wait '" + beats + "' scrubbed &\n");
        if (escaped.contains("orphan")) {
            script.append("(env -i setsid '" + beats + "' orphan &)\n");
        }
        String command =
                StartedCli.script(directory, "command", script.append("wait").toString());
        StartedCli.Setup cli =
                new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store).with("LEASEHOLD_CONTAINMENT", way);

        try (StartedCli first = cli.start("run", "--ttl=" + TTL.toSeconds() + "s", "--json", "job", "--", command)) {
            for (String name : escaped) {
                Await.until(() -> "beats of " + name + "; stderr: " + first.err(), () -> beats(name).length > 60);
            }
            try (StartedCli second = cli.start("run", "job", "--", "sh", "-c", "date +%s%N > second")) {
                long endOfLease = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) + TTL.toNanos();
                boolean happened = event.happensTo(first, store);
                assertThat(second.exitCode()).as(second::err).isZero();
                long next = event == Event.RELEASED_BY_FORCE && happened ? endOfLease : beats("second")[0];
                for (String name : escaped) {
                    assertThat(lastBeat(name))
                            .as(name + " beside the next holder")
                            .isLessThan(next);
                }
                assumeTrue(happened, "too slow a machine: the lease was lost before it could be released by force");
            }
            first.signal("CONT");
            first.exitCode();
            if (event != Event.KILLED) {
                assertThat(first.err()).contains("\"containment\":\"" + way + "\"");
            }
        } finally {
            StartedCli.shell("kill -KILL $(cat '" + directory + "'/*.pid)");
        }
    }

    /** The last beat within a second: a living process writes one every 20 ms. */
    private long lastBeat(String name) {
        StartedCli.shell("sleep 0.5");
        long[] all = beats(name);
        return all[all.length - 1];
    }

    private long[] beats(String name) {
        return StartedCli.read(directory.resolve(name))
                .lines()
                .filter(line -> line.length() == 19)
                .mapToLong(Long::parseLong)
                .toArray();
    }
}
