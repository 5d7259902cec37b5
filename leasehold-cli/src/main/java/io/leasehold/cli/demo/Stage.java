package io.leasehold.cli.demo;

import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All that a demonstration starts and writes: a Redis, the workers, a directory. Closing it leaves nothing behind; so does
 * the end of this process by a signal.
 */
final class Stage implements AutoCloseable {

    private final Path directory;
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final Thread hook = new Thread(this::clear, "demo-end");
    private @Nullable RedisServer redis;
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
        redis = started;
        return started;
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

    /** Whether everything is gone, because the person has ended it. */
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
        if (redis != null) {
            redis.close();
        }
        delete();
    }

    private void delete() {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.deleteIfExists(file);
            }
            Files.deleteIfExists(directory);
        } catch (IOException leftToTheSystem) {
            // A few small files in the directory for temporary ones; nothing is worth failing for now.
        }
    }

    @Override
    public void close() {
        clear();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The hook has done, or found done, what there was to do.
        }
    }
}
