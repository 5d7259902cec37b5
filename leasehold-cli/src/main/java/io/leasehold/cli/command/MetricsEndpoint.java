package io.leasehold.cli.command;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockStoreException;
import io.leasehold.micrometer.LockMetrics;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A scrape endpoint for Prometheus, on this machine only: readers elsewhere use a proxy that authenticates them. Its names are
 * those of {@code leasehold-micrometer}.
 */
final class MetricsEndpoint implements AutoCloseable {

    private static final long LEAKS_EVERY_NANOS = Duration.ofMinutes(1).toNanos();
    private static final Duration OLD = Duration.ofMinutes(15);

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final LockMetrics metrics;
    private final HttpServer server;
    private final AtomicInteger up = new AtomicInteger(1);
    private final AtomicInteger held = new AtomicInteger();
    private boolean complained;
    private long leaksAtNanos;
    private boolean looked;

    private MetricsEndpoint(int port, String... resources) {
        metrics = LockMetrics.builder(registry).resources(resources).build();
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        } catch (IOException e) {
            registry.close();
            throw new IllegalArgumentException(
                    "--metrics: cannot serve at port " + port + ": " + e.getMessage()
                            + "; take another one, or 0 for any",
                    e);
        }
        server.createContext("/metrics", this::answer);
        server.start();
    }

    /** The endpoint for this process's use of one lock. */
    static MetricsEndpoint ofRun(int port, String lock) {
        return new MetricsEndpoint(port, lock);
    }

    /** The endpoint for the state of the store. */
    static MetricsEndpoint ofStore(int port) {
        MetricsEndpoint endpoint = new MetricsEndpoint(port);
        Gauge.builder("distributed.lock.store.up", endpoint.up, AtomicInteger::get)
                .description("Whether the store answered the last poll")
                .register(endpoint.registry);
        Gauge.builder("distributed.lock.store.held", endpoint.held, AtomicInteger::get)
                .description("Locks that were held at the last poll, of those that are watched")
                .register(endpoint.registry);
        return endpoint;
    }

    /** A line with its address. */
    String address() {
        return "metrics at http://127.0.0.1:" + port() + "/metrics";
    }

    int port() {
        return server.getAddress().getPort();
    }

    LockListener listener() {
        return metrics;
    }

    void storeAnswered(int locks) {
        up.set(1);
        held.set(locks);
    }

    void storeFailed() {
        up.set(0);
    }

    void lookForLeaksSometimes(LockClient locks, Consumer<String> complaints) {
        long now = System.nanoTime();
        if (looked && now - leaksAtNanos < LEAKS_EVERY_NANOS) {
            return;
        }
        looked = true;
        leaksAtNanos = now;
        try {
            metrics.leaksFound(locks.admin().leaks(OLD));
            complained = false;
        } catch (LockStoreException e) {
            // This says nothing about the store, which has just answered: a search needs other rights and has other
            // limits.
            if (!complained) {
                complaints.accept("the search for leaks failed: " + e.getMessage() + "; retrying every minute");
            }
            complained = true;
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = registry.scrape().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        registry.close();
    }
}
