package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import java.time.Duration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;

/**
 * Closes the clients when the application ends: after the web server and the schedulers, which still use locks, and before connections
 * that a client may use.
 */
final class LeaseholdShutdown implements SmartLifecycle {

    /** Below the web server, which is at − 2048, and above connection factories, which are at 0. */
    static final int PHASE = DEFAULT_PHASE - 4096;

    private final ObjectProvider<LockClient> clients;
    private final Duration await;
    private volatile boolean running;

    LeaseholdShutdown(ObjectProvider<LockClient> clients, Duration await) {
        this.clients = clients;
        this.await = await;
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        running = false;
        clients.stream().forEach(client -> client.close(await));
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    /** A context that is paused between tests (from Framework 7 on) goes on later, and a closed client does not. */
    public boolean isPauseable() {
        return false;
    }
}
