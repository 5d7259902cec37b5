package io.leasehold.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/**
 * The demonstration's commands to a worker, one word per line on its standard input. When its input ends, the worker
 * ends at once, since the demonstration is gone. Safe for use by any thread.
 */
final class WorkerControl {

    static final String GO = "go";
    static final String KEEP = "keep";
    static final String SHARE = "share";
    static final String STOP = "stop";

    private final CompletableFuture<Void> going = new CompletableFuture<>();
    private final CompletableFuture<Void> stopped = new CompletableFuture<>();
    private volatile boolean keeping;

    /** Follows the stream on a separate thread. */
    void follow(InputStream input) {
        Thread thread = new Thread(() -> read(input), "demo-control");
        thread.setDaemon(true);
        thread.start();
    }

    private void read(InputStream input) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(input, StandardCharsets.US_ASCII))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                obey(line);
            }
        } catch (IOException gone) {
            // Treated like its end.
        }
        Runtime.getRuntime().halt(0);
    }

    private void obey(String word) {
        switch (word) {
            case GO -> going.complete(null);
            case KEEP -> keeping = true;
            case SHARE -> keeping = false;
            default -> {
                keeping = false;
                stopped.complete(null);
                going.complete(null);
            }
        }
    }

    void awaitGo() {
        going.join();
    }

    /** Whether a holder must keep the lock until it receives another command. */
    boolean isKeeping() {
        return keeping;
    }

    boolean isStopped() {
        return stopped.isDone();
    }

    /** Completes when the worker must finish its turn and end. */
    CompletableFuture<Void> stopped() {
        return stopped;
    }
}
