package io.leasehold.servers;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * One Sentinel of a {@link RedisSentinelGroup}, which can be killed, frozen and restarted with its saved state.
 *
 * <p>Safe for use by any thread; calls that change its state exclude each other. Errors as with {@link RedisServer}.
 */
public final class RedisSentinel implements AutoCloseable {
    private final ServerDirectory directory;
    private final PortReservation reservation;
    private final RedisProcess process;
    private boolean closed;

    private RedisSentinel(ServerDirectory directory, PortReservation reservation, RedisProcess process) {
        this.directory = directory;
        this.reservation = reservation;
        this.process = process;
    }

    /** Starts a Sentinel on a free port; the lines are those of its configuration that begin with "sentinel". */
    static RedisSentinel start(RedisBinary binary, List<String> sentinelLines) {
        ServerDirectory directory = ServerDirectory.open(null);
        try {
            return PortReservation.launch(reserved -> {
                List<String> lines = new ArrayList<>(List.of(
                        "bind 127.0.0.1",
                        "port " + reserved.port(),
                        "dir " + RedisConfiguration.quote(directory.path().toString()),
                        "daemonize no"));
                lines.addAll(sentinelLines);
                directory.writeConfiguration(lines);
                RedisProcess process =
                        new RedisProcess(binary, directory, reserved.port(), null, null, List.of("--sentinel"));
                return process.start() == RedisProcess.StartOutcome.READY
                        ? Optional.of(new RedisSentinel(directory, reserved, process))
                        : Optional.empty();
            });
        } catch (RuntimeException e) {
            directory.deleteIfTemporary();
            throw e;
        }
    }

    /** The port on which it listens. */
    public int port() {
        return reservation.port();
    }

    /** Whether the process lives; a frozen Sentinel does. */
    public synchronized boolean isRunning() {
        return process.isRunning();
    }

    /** Runs one command; the reply is as {@code redis-cli --raw} prints it. */
    public String call(String... command) {
        try {
            return process.call(List.of(command));
        } catch (IOException e) {
            throw new ServerException(command[0] + " failed at " + process + ": " + e.getMessage(), e);
        }
    }

    /** Ends the Sentinel by SIGKILL. */
    public synchronized void kill() {
        process.kill();
    }

    /** Starts the Sentinel again with the configuration that it had written. */
    public synchronized void restart() {
        process.kill();
        if (closed || process.start() != RedisProcess.StartOutcome.READY) {
            throw new ServerException(process + " cannot start: it is closed, or its port is taken");
        }
    }

    /** SIGSTOP. */
    public synchronized void freeze() {
        process.signal("STOP");
    }

    /** SIGCONT. */
    public synchronized void thaw() {
        process.signal("CONT");
    }

    /** Ends the Sentinel and frees its port; may be called more than once. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        process.kill();
        reservation.close();
        directory.deleteIfTemporary();
    }

    @Override
    public String toString() {
        return process.toString();
    }

    void await(String what, Duration patience, Predicate<RedisSentinel> condition) {
        process.await(what, patience, () -> condition.test(this));
    }
}
