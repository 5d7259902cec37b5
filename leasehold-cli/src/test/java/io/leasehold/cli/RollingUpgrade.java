package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.output.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of clients of the previous and the current wire version on the same store, as during an upgrade machine by
 * machine: they exclude each other, wait for each other, and their tokens grow. Kinds of holds that only the current
 * version knows exclude the previous one.
 */
abstract class RollingUpgrade {

    private static final int TURNS_OF_EACH = 2;

    @TempDir
    Path directory;

    void shareLocks(String store) {
        oneHoldsTheOtherWaits(store, "old-first", previous(store), today(store));
        oneHoldsTheOtherWaits(store, "new-first", today(store), previous(store));
        turnsOfBothAreOneAtATime(store);
    }

    /** A reader, and the ticket of an exported lease: the previous version knows neither. */
    void newKindsOfHoldsExcludeThePrevious(String store) {
        Path token = directory.resolve("reader.token");
        Path end = directory.resolve("reader.end");
        try (StartedCli reader = today(store).start("run", "--read", "read", "--", "sh", "-c", holdUntil(token, end))) {
            Await.until(
                    () -> "the reader; " + reader.err(),
                    () -> !StartedCli.read(token).isEmpty());
            isBusyForThePrevious(store, "read");
            StartedCli.shell("touch '" + end + "'");
            assertThat(reader.exitCode()).as(reader::err).isZero();
        }
        isHeldAfterwardsByThePrevious(store, "read", StartedCli.read(token));

        String ticket = directory.resolve("ticket").toString();
        StartedCli exported = today(store).run("run", "--export", ticket, "travels", "--", "true");
        assertThat(exported.exitCode()).as(exported::err).isZero();
        isBusyForThePrevious(store, "travels");
        StartedCli resumed = today(store)
                .run("run", "--resume", ticket, "travels", "--", "sh", "-c", "echo $LEASEHOLD_FENCING_TOKEN");
        assertThat(resumed.exitCode()).as(resumed::err).isZero();
        isHeldAfterwardsByThePrevious(store, "travels", resumed.out());
    }

    private void isBusyForThePrevious(String store, String lock) {
        StartedCli refused = previous(store).run("run", "--no-wait", lock, "--", "true");
        assertThat(refused.exitCode()).as(refused::err).isEqualTo(ExitCode.BUSY.code());
    }

    private void isHeldAfterwardsByThePrevious(String store, String lock, String token) {
        StartedCli holder =
                previous(store).run("run", "--wait=2m", lock, "--", "sh", "-c", "echo $LEASEHOLD_FENCING_TOKEN");
        assertThat(holder.exitCode()).as(holder::err).isZero();
        assertThat(Long.parseLong(holder.out().strip())).isGreaterThan(Long.parseLong(token.strip()));
    }

    StartedCli.Setup today(String store) {
        return new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
    }

    StartedCli.Setup previous(String store) {
        return today(store).of(PreviousClient.classPath());
    }

    private void oneHoldsTheOtherWaits(String store, String lock, StartedCli.Setup holding, StartedCli.Setup coming) {
        Path token = directory.resolve(lock + ".token");
        Path end = directory.resolve(lock + ".end");
        try (StartedCli holder = holding.start("run", lock, "--", "sh", "-c", holdUntil(token, end))) {
            Await.until(
                    () -> "the holder; " + holder.err(),
                    () -> !StartedCli.read(token).isEmpty());
            assertThat(seenByToday(store, "who", "--id", lock)).contains("/" + holder.pid() + "/");
            StartedCli refused = coming.run("run", "--no-wait", lock, "--", "true");
            assertThat(refused.exitCode()).as(refused::err).isEqualTo(ExitCode.BUSY.code());

            try (StartedCli waiter =
                    coming.start("run", "--wait=2m", lock, "--", "sh", "-c", "echo $LEASEHOLD_FENCING_TOKEN")) {
                Await.until(() -> "the waiter; " + waiter.err(), () -> isSeenWaiting(store, lock, waiter));
                StartedCli.shell("touch '" + end + "'");
                assertThat(holder.exitCode()).as(holder::err).isZero();
                assertThat(waiter.exitCode()).as(waiter::err).isZero();
                assertThat(Long.parseLong(waiter.out().strip()))
                        .isGreaterThan(Long.parseLong(StartedCli.read(token).strip()));
            }
        }
    }

    /**
     * Whether the current program shows that this client waits. Stores whose waiters poll, or ask a quorum, do not know
     * their waiters.
     */
    boolean isSeenWaiting(String store, String lock, StartedCli waiter) {
        boolean isUnknown = store.startsWith("sqlite:") || store.startsWith("jdbc:") || store.startsWith("redlock:");
        return isUnknown || seenByToday(store, "show", lock).contains("/" + waiter.pid() + "/");
    }

    /** Whether a client ended because it cannot wait together with the others; it may retry. */
    boolean isTurnedAway(String store, StartedCli ended) {
        return false;
    }

    /** The output of the current program, run in this process. */
    static String seenByToday(String store, String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream both = new PrintStream(out, true, StandardCharsets.UTF_8);
        Main.run(arguments, new Invocation(new Terminal(both, both), Map.of("LEASEHOLD_STORE", store)));
        return out.toString(StandardCharsets.UTF_8);
    }

    static String holdUntil(Path token, Path end) {
        return "echo $LEASEHOLD_FENCING_TOKEN > '" + token + ".part'; mv '" + token + ".part' '" + token
                + "'; until [ -e '" + end + "' ]; do sleep 0.05; done";
    }

    /** Checks a counter that loses a turn if two run at once, and the tokens in the order of the turns. */
    private void turnsOfBothAreOneAtATime(String store) {
        Path count = directory.resolve("count");
        Path tokens = directory.resolve("tokens");
        StartedCli.shell("echo 0 > '" + count + "'");
        String turn = "n=$(cat '" + count + "'); sleep 0.1; echo $LEASEHOLD_FENCING_TOKEN >> '" + tokens
                + "'; echo $((n + 1)) > '" + count + "'";
        Map<StartedCli, StartedCli.Setup> running = new LinkedHashMap<>();
        try {
            for (int i = 0; i < TURNS_OF_EACH; i++) {
                for (StartedCli.Setup version : List.of(previous(store), today(store))) {
                    running.put(startTurn(version, turn), version);
                }
            }
            while (!running.isEmpty()) {
                StartedCli one = running.keySet().iterator().next();
                int exitCode = one.exitCode();
                StartedCli.Setup version = running.remove(one);
                if (isTurnedAway(store, one)) {
                    running.put(startTurn(version, turn), version);
                } else {
                    assertThat(exitCode).as(one::err).isZero();
                }
            }
        } finally {
            running.keySet().forEach(StartedCli::close);
        }
        assertThat(StartedCli.read(count).strip()).isEqualTo(String.valueOf(2 * TURNS_OF_EACH));
        assertThat(Stream.of(StartedCli.read(tokens).split("\n", -1))
                        .filter(line -> !line.isBlank())
                        .map(Long::valueOf))
                .hasSize(2 * TURNS_OF_EACH)
                .isSorted()
                .doesNotHaveDuplicates();
    }

    private static StartedCli startTurn(StartedCli.Setup version, String turn) {
        return version.start("run", "--wait=3m", "turns", "--", "sh", "-c", turn);
    }
}
