package io.leasehold.demo;

import io.leasehold.servers.ClockShim;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The resources of a demonstration: servers, processes, a directory. Closing it, or ending this process by a signal, removes all of them.
 */
final class Stage implements AutoCloseable {

    private final Path directory;
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final Thread hook = new Thread(this::clear, "demo-end");
    private final List<AutoCloseable> servers = new ArrayList<>();
    private boolean cleared;

    private Stage(Path directory) {
        this.directory = directory;
    }

    static Stage open() throws IOException {
        Stage stage = new Stage(Files.createTempDirectory("leasehold-demo"));
        Runtime.getRuntime().addShutdownHook(stage.hook);
        return stage;
    }

    Path directory() {
        return directory;
    }

    /** Starts the server. */
    synchronized RedisServer startRedis() {
        requireOpen();
        RedisServer started = RedisServer.start();
        servers.add(started);
        return started;
    }

    /** Starts this number of independent servers without eviction. */
    synchronized List<RedisServer> startRedises(int count) {
        List<RedisServer> started = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requireOpen();
            RedisServer one =
                    RedisServer.builder().config("maxmemory-policy noeviction").start();
            servers.add(one);
            started.add(one);
        }
        return started;
    }

    /**
     * Starts this number of servers, each with its own clock.
     *
     * @throws ServerUnavailableException if this machine does not support that
     */
    synchronized List<RedisServer> startRedisesWithClocks(int count) {
        requireOpen();
        ClockShim shim = ClockShim.compile();
        servers.add(shim);
        List<RedisServer> started = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            RedisServer one = RedisServer.builder()
                    .config("maxmemory-policy noeviction")
                    .clock(shim.clock())
                    .start();
            servers.add(one);
            started.add(one);
        }
        return started;
    }

    /** Starts a primary and a replica of it. */
    synchronized RedisReplicated startReplicated() {
        requireOpen();
        RedisReplicated started = RedisReplicated.start(1);
        servers.add(started);
        return started;
    }

    /** Starts an actor. */
    synchronized Actor startActor(String name) throws IOException {
        requireOpen();
        WorkerProcess process = WorkerProcess.startActor(name, directory);
        workers.add(process);
        return new Actor(process);
    }

    /** A directory for the files of one act. */
    Path newDirectory() throws IOException {
        return Files.createTempDirectory(directory, "act");
    }

    /** Starts a worker. */
    synchronized WorkerProcess startWorker(String name, String storeUri, DemoSettings settings) throws IOException {
        requireOpen();
        WorkerProcess worker = WorkerProcess.start(name, directory, storeUri, settings);
        workers.add(worker);
        return worker;
    }

    private void requireOpen() {
        if (cleared) {
            throw new IllegalStateException("the demonstration is being ended");
        }
    }

    /** Whether everything was removed because the process is ending. */
    synchronized boolean isCleared() {
        return cleared;
    }

    private synchronized void clear() {
        if (cleared) {
            return;
        }
        cleared = true;
        workers.forEach(WorkerProcess::end);
        for (WorkerProcess worker : workers) {
            worker.awaitGone();
        }
        servers.forEach(Stage::close);
        delete();
    }

    private static void close(AutoCloseable server) {
        try {
            server.close();
        } catch (Exception e) {
            // It was started under a guard that ends it with this process.
        }
    }

    private void delete() {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException leftToTheSystem) {
            // A few small temporary files may remain; that is no reason to fail.
        }
    }

    @Override
    public void close() {
        clear();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The hook has removed everything.
        }
    }
}
