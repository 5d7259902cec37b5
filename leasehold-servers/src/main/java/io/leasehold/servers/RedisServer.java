package io.leasehold.servers;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A real Redis (or Valkey) server on 127.0.0.1 that can be stopped, killed, frozen and restarted with its remaining data.
 *
 * <p>It is ready when {@link Builder#start()} returns. Port and data directory stay the same over all restarts; a port that
 * was chosen freely stays reserved while the server is down. The process ends with {@link #close()} and at the latest with
 * this JVM, even if that is killed; a data directory that was not given is deleted then.
 *
 * <p>Safe for use by any thread; calls that change the server's state exclude each other. All methods throw
 * {@link ServerException} when the server does not obey; an interrupt while waiting surfaces as such an
 * exception, with the interrupt flag set.
 */
public final class RedisServer implements AutoCloseable {
    private final RedisBinary binary;
    private final ServerDirectory directory;
    private final @Nullable PortReservation reservation;
    private final int port;
    private final RedisConfiguration configuration;
    private final @Nullable ServerClock clock;
    private final RedisProcess process;
    private boolean configured;
    private boolean closed;

    private RedisServer(
            RedisBinary binary,
            ServerDirectory directory,
            @Nullable PortReservation reservation,
            int port,
            @Nullable ServerClock clock,
            RedisConfiguration configuration) {
        this.binary = binary;
        this.directory = directory;
        this.reservation = reservation;
        this.port = port;
        this.configuration = configuration;
        this.clock = clock;
        this.process = new RedisProcess(binary, directory, port, configuration.launcher(), clock, List.of());
    }

    /** A server with the defaults: free port, no persistence, no password, temporary data directory. */
    public static RedisServer start() {
        return builder().start();
    }

    /** The configuration of a server, before its start. */
    public static Builder builder() {
        return new Builder();
    }

    /** The port on which it listens, over all restarts. */
    public int port() {
        return port;
    }

    /** {@code redis://127.0.0.1:port}, with the password of the default user if one was set. */
    public String uri() {
        String password = configuration.password();
        String userInfo = password == null
                ? ""
                : ":" + URLEncoder.encode(password, StandardCharsets.UTF_8).replace("+", "%20") + "@";
        return "redis://" + userInfo + "127.0.0.1:" + port;
    }

    /** Its version. */
    public ServerVersion version() {
        return binary.version();
    }

    /** The process id since the last start. */
    public synchronized long pid() {
        return process.pid();
    }

    /** Whether the process lives; a frozen server does. */
    public synchronized boolean isRunning() {
        return process.isRunning();
    }

    /**
     * Runs one command over a separate connection, as a user with all rights.
     *
     * @return the reply as {@code redis-cli --raw} prints it
     * @throws ServerException if the server answers with an error or does not answer within 10 s
     */
    public String call(String... command) {
        try {
            return process.call(List.of(command));
        } catch (IOException e) {
            throw new ServerException(command[0] + " failed at " + process + ": " + e.getMessage(), e);
        }
    }

    /** Ends the server in order, without a snapshot ({@code SHUTDOWN NOSAVE}); the content of the AOF stays. */
    public synchronized void stop() {
        process.shutdown();
    }

    /** Ends the server by SIGKILL. The kernel keeps the data that the server had written, even without fsync. */
    public synchronized void kill() {
        process.kill();
    }

    /**
     * Ends the server by SIGKILL and cuts bytes off the end of its AOF, as the crash of the whole machine does with what
     * was not synced to the disk.
     */
    public synchronized void killLosing(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("bytes to lose must be positive, not " + bytes);
        }
        process.kill();
        Path aof = directory.newestData("*.aof");
        try (FileChannel file = FileChannel.open(aof, StandardOpenOption.WRITE)) {
            file.truncate(Math.max(0, file.size() - bytes));
        } catch (IOException e) {
            throw new ServerException("cannot truncate '" + aof + "'", e);
        }
    }

    /** Starts the server again, after {@link #stop()} or {@link #kill()}; ends it first by SIGKILL if it still runs. */
    public synchronized void restart() {
        process.kill();
        launch();
    }

    /** Kills the server and starts it without any data: the disk was lost, or there never was one. */
    public synchronized void restartEmpty() {
        process.kill();
        directory.deleteData();
        launch();
    }

    /** Copies the present files of the server; see {@link #restartFrom(DataCopy)}. */
    public synchronized DataCopy copyData() {
        return new DataCopy(directory.copyData());
    }

    /** Kills the server and starts it on older data: a backup was restored, or a disk came back. */
    public synchronized void restartFrom(DataCopy copy) {
        process.kill();
        directory.replaceData(copy.directory());
        launch();
    }

    /** SIGSTOP: the process keeps its memory and connections and does nothing until {@link #thaw()}. */
    public synchronized void freeze() {
        process.signal("STOP");
    }

    /** Sends SIGCONT: a frozen server resumes, beginning with the requests that have arrived meanwhile. */
    public synchronized void thaw() {
        process.signal("CONT");
    }

    /**
     * Its wall clock.
     *
     * @throws IllegalStateException unless it was started with one; see {@link Builder#clock}
     */
    public ServerClock clock() {
        if (clock == null) {
            throw new IllegalStateException(process + " was started without a clock of its own: use Builder.clock");
        }
        return clock;
    }

    /** The last lines of the server's log, for failure messages. */
    public String logTail() {
        return process.logTail();
    }

    /** Ends the server by SIGKILL and frees port and temporary directory; may be called more than once. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            process.kill();
        } finally {
            if (reservation != null) {
                reservation.close();
            }
            directory.deleteIfTemporary();
        }
    }

    @Override
    public String toString() {
        return process + " (" + binary.version() + ")";
    }

    /** Waits for a state of the server, or of its group, that {@link #call} can observe. */
    void await(String what, Duration patience, Predicate<RedisServer> condition) {
        process.await(what, patience, () -> condition.test(this));
    }

    /** The user with which the launcher and servers of the same group log in; null if every user has all rights. */
    RedisProcess.@Nullable Credentials launcher() {
        return configuration.launcher();
    }

    private void launch() {
        if (closed) {
            throw new ServerException(process + " is closed");
        }
        if (tryLaunch() == RedisProcess.StartOutcome.PORT_TAKEN) {
            throw new ServerException(process + " cannot start: another program has taken the port");
        }
    }

    private RedisProcess.StartOutcome tryLaunch() {
        // Only once: Sentinel has the servers rewrite their own configuration, which must outlive a restart.
        if (!configured) {
            directory.writeConfiguration(configuration.lines(port, directory.path(), binary.version()));
            configured = true;
        }
        return process.start();
    }

    /** The configuration of a server; every method changes the default of a bare server without persistence. */
    public static final class Builder {
        private final RedisConfiguration.Collector configuration = new RedisConfiguration.Collector();
        private int port;
        private @Nullable Path directory;
        private @Nullable RedisBinary binary;
        private @Nullable ServerClock clock;

        private Builder() {}

        /**
         * The port to listen on; 0, the default, picks one that is free and stays reserved.
         *
         * @throws IllegalArgumentException unless 0…65535
         */
        public Builder port(int newPort) {
            if (newPort < 0 || newPort > 65_535) {
                throw new IllegalArgumentException("port must be 0 to 65535, not " + newPort);
            }
            port = newPort;
            return this;
        }

        /** Where data, configuration and log are kept; the directory is not deleted by {@link RedisServer#close()}. */
        public Builder directory(Path newDirectory) {
            directory = newDirectory;
            return this;
        }

        /** The server binary, instead of {@link RedisBinary#find()}. */
        public Builder binary(RedisBinary newBinary) {
            binary = newBinary;
            return this;
        }

        /** Its own wall clock, created by a {@link ClockShim}; needs a server binary that is linked dynamically. */
        public Builder clock(ServerClock newClock) {
            clock = newClock;
            return this;
        }

        /**
         * One line of {@code redis.conf}, for example {@code "maxmemory 10mb"}; later lines win.
         *
         * @throws IllegalArgumentException for line breaks and for what has a method of its own or is the launcher's
         *     (port, bind, dir, daemonize, logfile, aclfile, include, requirepass, user)
         */
        public Builder config(String line) {
            configuration.line(line);
            return this;
        }

        /** Append-only file, with {@code always}, {@code everysec} or {@code no} as fsync policy. */
        public Builder appendOnly(String fsync) {
            if (!List.of("always", "everysec", "no").contains(fsync)) {
                throw new IllegalArgumentException("appendfsync must be always, everysec or no, not '" + fsync + "'");
            }
            return config("appendonly yes").config("appendfsync " + fsync);
        }

        /** The settings that Leasehold requires of a durable node: fsync before every reply, also during rewrites, and no eviction. */
        public Builder durable() {
            return appendOnly("always").config("no-appendfsync-on-rewrite no").config("maxmemory-policy noeviction");
        }

        /** A memory limit and the eviction policy at it, for example {@code maxMemory("2mb", "allkeys-lru")}. */
        public Builder maxMemory(String limit, String policy) {
            return config("maxmemory " + limit).config("maxmemory-policy " + policy);
        }

        /** The password of the default user ({@code requirepass}). */
        public Builder password(String password) {
            configuration.password(password);
            return this;
        }

        /** An ACL user, for example {@code user("app", "on >secret ~lock:* +@all")}. */
        public Builder user(String name, String rules) {
            configuration.user(name, rules);
            return this;
        }

        /** The launcher's own user, the same for all members of a group, so that each can replicate from any other. */
        Builder launcher(RedisProcess.Credentials credentials) {
            configuration.launcher(credentials);
            return this;
        }

        /**
         * Starts the server and waits until it answers.
         *
         * @throws ServerUnavailableException if this machine has no server binary
         * @throws ServerException if it does not start, with the reason it gave
         */
        public RedisServer start() {
            RedisBinary chosen = binary == null ? RedisBinary.find() : binary;
            ServerDirectory home = ServerDirectory.open(directory);
            try {
                return port == 0 ? startOnFreePort(chosen, home) : startOnPort(chosen, home);
            } catch (RuntimeException e) {
                home.deleteIfTemporary();
                throw e;
            }
        }

        private RedisServer startOnPort(RedisBinary chosen, ServerDirectory home) {
            RedisServer server = new RedisServer(chosen, home, null, port, clock, configuration.finish());
            server.launch();
            return server;
        }

        private RedisServer startOnFreePort(RedisBinary chosen, ServerDirectory home) {
            return PortReservation.launch(reserved -> {
                RedisServer server =
                        new RedisServer(chosen, home, reserved, reserved.port(), clock, configuration.finish());
                return server.tryLaunch() == RedisProcess.StartOutcome.READY ? Optional.of(server) : Optional.empty();
            });
        }
    }
}
