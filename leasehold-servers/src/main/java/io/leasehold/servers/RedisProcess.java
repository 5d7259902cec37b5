package io.leasehold.servers;

import java.io.IOException;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One {@code redis-server} process, as data server or as Sentinel: from its configuration file to the answer to PING.
 *
 * <p>Readiness is proved by the process itself: the server that answers on the port must report the pid that was started,
 * so that a foreign server on the port is never mistaken for ours. Not safe for use by several threads.
 */
final class RedisProcess {
    static final String CONFIGURATION = "redis.conf";

    private static final Duration START_PATIENCE = Duration.ofSeconds(60);
    private static final Duration CALL_PATIENCE = Duration.ofSeconds(10);
    // Short, because another program on the port may accept and never answer; the end of the started process is
    // reliable.
    private static final Duration PROBE_PATIENCE = Duration.ofMillis(500);
    // The C libraries word it differently.
    private static final Pattern PORT_IN_USE = Pattern.compile("bind: Address (already )?in use");
    private static final Duration EXIT_PATIENCE = Duration.ofSeconds(2);
    private static final int LOG_TAIL_LINES = 20;

    private final RedisBinary binary;
    private final ServerDirectory directory;
    private final int port;
    private final @Nullable Credentials credentials;
    private final @Nullable ServerClock clock;
    private final List<String> options;
    private @Nullable GuardedProcess process;
    private @Nullable Thread exitHook;

    /** The user of the launcher at the server. */
    record Credentials(String user, String password) {
        static Credentials random() {
            byte[] secret = new byte[16];
            new SecureRandom().nextBytes(secret);
            return new Credentials("leasehold-launcher", HexFormat.of().formatHex(secret));
        }

        @Override
        public String toString() {
            return user;
        }
    }

    RedisProcess(
            RedisBinary binary,
            ServerDirectory directory,
            int port,
            @Nullable Credentials credentials,
            @Nullable ServerClock clock,
            List<String> options) {
        this.binary = binary;
        this.directory = directory;
        this.port = port;
        this.credentials = credentials;
        this.clock = clock;
        this.options = List.copyOf(options);
    }

    /** The outcome of a start, as far as a retry can help. */
    enum StartOutcome {
        READY,
        PORT_TAKEN
    }

    /** Starts the server on the configuration file that stands in its directory and waits until it answers. */
    StartOutcome start() {
        Path log = directory.path().resolve("server.log");
        List<String> command = new ArrayList<>(clock == null ? List.of() : clock.prefix());
        command.add(binary.path().toString());
        command.add(directory.path().resolve(CONFIGURATION).toString());
        command.addAll(options);
        try {
            // Log lines of earlier starts do not explain this failure.
            long logStart = Files.exists(log) ? Files.size(log) : 0;
            GuardedProcess started = GuardedProcess.start(
                    command, directory.path(), log, directory.isTemporary() ? directory.path() : null);
            process = started;
            StartOutcome outcome = awaitReady(started, log, logStart);
            if (outcome == StartOutcome.READY) {
                requireClock();
                registerExitHook(started);
            } else {
                process = null;
            }
            return outcome;
        } catch (IOException e) {
            kill();
            throw new ServerException("cannot start " + this + ": " + e.getMessage(), e);
        } catch (RuntimeException e) {
            kill();
            throw e;
        }
    }

    private void requireClock() {
        if (clock != null && !clock.isLoaded()) {
            throw new ServerUnavailableException(
                    "the clock of " + binary.path()
                            + " cannot be moved, since it is linked statically: install redis-server from the system's packages");
        }
    }

    boolean isRunning() {
        return process != null && process.isAlive();
    }

    long pid() {
        return running().pid();
    }

    /** Orderly end without saving. A frozen server is thawed, since it could not receive the order. */
    void shutdown() {
        if (!isRunning()) {
            return;
        }
        signal("CONT");
        try {
            List<String> order = new ArrayList<>(List.of("SHUTDOWN", "NOSAVE"));
            if (binary.version().isAtLeast(7, 0)) {
                order.add("NOW"); // else a primary waits for replicas that lag
            }
            call(order);
        } catch (IOException closedByTheShutdown) {
            // The expected answer is the end of the connection; the process shows whether it worked.
        }
        awaitEnd("SHUTDOWN NOSAVE");
    }

    /** SIGKILL, and waits until the process is gone; also ends a frozen server. */
    void kill() {
        if (process == null) {
            return;
        }
        process.kill();
        awaitEnd("SIGKILL");
    }

    void signal(String name) {
        try {
            running().signal(name);
        } catch (IOException e) {
            throw new ServerException(e.getMessage() + " (" + this + ")", e);
        } catch (InterruptedException e) {
            throw interrupted("sending SIG" + name);
        }
    }

    /** Runs one command over a separate connection. */
    String call(List<String> command) throws IOException {
        return call(CALL_PATIENCE, command);
    }

    private String call(Duration patience, List<String> command) throws IOException {
        try (RespConnection connection = new RespConnection(port, patience)) {
            if (credentials != null) {
                connection.call(List.of("AUTH", credentials.user(), credentials.password()));
            }
            return connection.call(command);
        }
    }

    /**
     * Waits until the condition holds, asking every few milliseconds; fails with the log's tail when it never does.
     *
     * <p>A broken connection only means that it does not hold yet: servers that change roles drop their clients.
     */
    void await(String what, Duration patience, BooleanSupplier condition) {
        long startNanos = System.nanoTime();
        while (!holds(condition)) {
            if (System.nanoTime() - startNanos > patience.toNanos()) {
                throw new ServerException(this + ": " + what + " did not happen within " + patience + "\n" + logTail());
            }
            nap(5, "waiting for " + what);
        }
    }

    /** The last lines of the log, over all restarts. */
    String logTail() {
        return tail(directory.path().resolve("server.log"), 0);
    }

    @Override
    public String toString() {
        return (options.contains("--sentinel") ? "Sentinel" : "Redis") + " server at 127.0.0.1:" + port;
    }

    private StartOutcome awaitReady(GuardedProcess started, Path log, long logStart) throws IOException {
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < START_PATIENCE.toNanos()) {
            if (!started.isAlive()) {
                String complaint = tail(log, logStart);
                if (PORT_IN_USE.matcher(complaint).find()) {
                    return StartOutcome.PORT_TAKEN;
                }
                throw new ServerException(
                        "cannot start " + this + ": it ended with exit code " + started.exitCode() + "\n" + complaint);
            }
            if (answersAs(started.pid())) {
                return StartOutcome.READY;
            }
            nap(1, "starting " + this);
        }
        throw new ServerException(this + " did not become ready within " + START_PATIENCE + "\n" + tail(log, logStart));
    }

    private boolean answersAs(long pid) throws IOException {
        try {
            String info = call(PROBE_PATIENCE, List.of("INFO", "server"));
            // INFO is answered while data is still being loaded, PING only afterwards.
            return info.contains("process_id:" + pid + "\r")
                    && call(PROBE_PATIENCE, List.of("PING")).equals("PONG");
        } catch (ConnectException notListeningYet) {
            return false;
        } catch (RespErrorException e) {
            if (e.code().equals("LOADING") || e.code().equals("MASTERDOWN")) {
                return false;
            }
            throw e;
        } catch (IOException brokenByAStrangerOrByItsEnd) {
            return false;
        }
    }

    private static boolean holds(BooleanSupplier condition) {
        try {
            return condition.getAsBoolean();
        } catch (ServerException e) {
            if (e.getCause() instanceof IOException && !(e.getCause() instanceof RespErrorException)) {
                return false;
            }
            throw e;
        }
    }

    private void awaitEnd(String order) {
        GuardedProcess ending = running();
        try {
            if (!ending.waitFor(CALL_PATIENCE)) {
                throw new ServerException(this + " did not end after " + order + "\n" + logTail());
            }
        } catch (InterruptedException e) {
            throw interrupted("ending " + this);
        }
        process = null;
        dropExitHook();
    }

    // The guardian would do this too, but only after the JVM; an orderly exit leaves nothing to wait for.
    private void registerExitHook(GuardedProcess started) {
        Thread hook = new Thread(
                () -> {
                    started.kill();
                    try {
                        started.waitFor(EXIT_PATIENCE);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    directory.deleteIfTemporary();
                },
                "leasehold-servers-exit-" + port);
        try {
            Runtime.getRuntime().addShutdownHook(hook);
            exitHook = hook;
        } catch (IllegalStateException shuttingDown) {
            kill();
            throw new ServerException(this + " was not started: the JVM is shutting down", shuttingDown);
        }
    }

    private void dropExitHook() {
        if (exitHook == null) {
            return;
        }
        try {
            Runtime.getRuntime().removeShutdownHook(exitHook);
        } catch (IllegalStateException shuttingDown) {
            // It runs or has run; killing twice does no harm.
        }
        exitHook = null;
    }

    private GuardedProcess running() {
        if (process == null) {
            throw new ServerException(this + " is not running");
        }
        return process;
    }

    private void nap(long millis, String doing) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw interrupted(doing);
        }
    }

    private static ServerException interrupted(String doing) {
        Thread.currentThread().interrupt();
        return new ServerException("interrupted while " + doing);
    }

    private static String tail(Path log, long from) {
        try {
            byte[] all = Files.readAllBytes(log);
            int start = (int) Math.min(from, all.length);
            List<String> lines = new String(all, start, all.length - start, StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            return String.join("\n", lines.subList(Math.max(0, lines.size() - LOG_TAIL_LINES), lines.size()));
        } catch (IOException e) {
            return "(no log: " + e.getMessage() + ")";
        }
    }
}
