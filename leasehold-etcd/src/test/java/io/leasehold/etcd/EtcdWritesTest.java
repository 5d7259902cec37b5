package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.EtcdServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The cost of a pair of acquire and release at a real server, which waits for each write to its log. */
@Tag("full")
final class EtcdWritesTest {

    private static final int PAIRS = 200;

    private EtcdServer server;

    @BeforeEach
    void start() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.close();
        }
    }

    private LockClient client() {
        return Leasehold.builder()
                .store("etcd://127.0.0.1:" + server.port() + "/writes")
                .connect();
    }

    /** The number of writes of each pair, without those that a server makes by itself in the meantime. */
    private double writesPerPair(Runnable pairs) {
        long before = server.fsyncs();
        pairs.run();
        // Requests for which no caller waits come later.
        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
        double perPair = (server.fsyncs() - before) / (double) PAIRS;
        System.out.printf("%.2f writes per pair%n", perPair);
        return perPair;
    }

    @Test
    void aPairTakesTwoWritesAndTheFirstOneMore() throws Exception {
        try (LockClient client = client()) {
            assertThat(writesPerPair(() -> pairs(client, true))).isLessThan(2.2);
        }
    }

    @Test
    void aPairThatDoesNotWaitTakesTwoWritesToo() {
        try (LockClient client = client()) {
            assertThat(writesPerPair(() -> pairs(client, false))).isLessThan(2.2);
        }
    }

    private static void pairs(LockClient client, boolean waits) {
        try {
            for (int i = 0; i < PAIRS; i++) {
                Objects.requireNonNull(
                                client.named("n" + i % 3).tryAcquire(waits ? Duration.ofSeconds(30) : Duration.ZERO))
                        .close();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The client does not leave an unused lease to end by itself after it has gone. */
    @Test
    void aClosedClientLeavesNoLease() throws Exception {
        try (LockClient client = client()) {
            pairs(client, false);
        }
        HttpResponse<String> leases = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + "/v3/lease/leases"))
                                .POST(HttpRequest.BodyPublishers.ofString("{}"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(leases.body()).contains("revision").doesNotContain("ID\"");
    }
}
