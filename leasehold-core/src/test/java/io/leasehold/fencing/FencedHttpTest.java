package io.leasehold.fencing;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of a service that keeps one number and receives tokens in the header: it refuses stale holders, whatever client
 * sends their requests.
 */
@Tag("full")
class FencedHttpTest {

    private static final int HOLDERS = 3;
    private static final int TURNS = 60;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpClient client = HttpClient.newHttpClient();
    private final FencingGuard guard = FencingGuard.inMemory();
    private HttpServer server;
    private String balance = "10";

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/balance", this::serve);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    private void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            String body = new String(exchange.getRequestBody().readAllBytes(), US_ASCII);
            String header = exchange.getRequestHeaders().getFirst(FencingHeader.NAME);
            Answer answer = header == null
                    ? new Answer(FencingHeader.REQUIRED, "")
                    : answer(
                            FencingHeader.parse(header),
                            FencingHeader.parseAccess(
                                    exchange.getRequestHeaders().getFirst(FencingHeader.ACCESS)),
                            exchange.getRequestMethod(),
                            body);
            exchange.sendResponseHeaders(answer.status(), 0);
            exchange.getResponseBody().write(answer.body().getBytes(US_ASCII));
        }
    }

    private record Answer(int status, String body) {}

    /** The admission and the admitted operation are one step. */
    private synchronized Answer answer(long token, Access access, String method, String body) {
        if (access == Access.READ && !method.equals("GET")) {
            return new Answer(FencingHeader.MALFORMED, "");
        }
        Admission admission = guard.admit("balance", token, access);
        if (!admission.isAdmitted()) {
            return new Answer(FencingHeader.status(admission), "");
        }
        if (method.equals("PUT")) {
            balance = body;
        }
        return new Answer(200, balance);
    }

    private HttpResponse<String> get(long token) throws IOException, InterruptedException {
        return send(HttpRequest.newBuilder().GET(), token);
    }

    private HttpResponse<String> getAsReader(long token) throws IOException, InterruptedException {
        return send(
                HttpRequest.newBuilder().GET().header(FencingHeader.ACCESS, FencingHeader.format(Access.READ)), token);
    }

    private HttpResponse<String> put(long token, String body) throws IOException, InterruptedException {
        return send(HttpRequest.newBuilder().PUT(BodyPublishers.ofString(body)), token);
    }

    private HttpResponse<String> putAsReader(long token, String body) throws IOException, InterruptedException {
        return send(
                HttpRequest.newBuilder()
                        .PUT(BodyPublishers.ofString(body))
                        .header(FencingHeader.ACCESS, FencingHeader.format(Access.READ)),
                token);
    }

    private HttpResponse<String> send(HttpRequest.Builder request, long token)
            throws IOException, InterruptedException {
        URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/balance");
        return client.send(
                request.uri(uri)
                        .header(FencingHeader.NAME, FencingHeader.format(token))
                        .build(),
                BodyHandlers.ofString());
    }

    @Test
    void refusesTheRequestOfAHolderThatWasStopped() throws Exception {
        assertThat(get(2).body()).isEqualTo("10");
        assertThat(get(3).body()).isEqualTo("10");

        assertThat(put(2, "11 by the old").statusCode()).isEqualTo(FencingHeader.STALE);
        assertThat(put(3, "11").statusCode()).isEqualTo(200);
        assertThat(get(3).body()).isEqualTo("11");
    }

    @Test
    void admitsOlderReadersAfterNewerOnesAndRefusesTheWriterBeforeThem() throws Exception {
        assertThat(put(2, "11").statusCode()).isEqualTo(200);
        assertThat(getAsReader(5).body()).isEqualTo("11");
        assertThat(getAsReader(4).body()).isEqualTo("11");
        assertThat(get(4).statusCode()).as("without a kind it is a writer").isEqualTo(FencingHeader.STALE);
        assertThat(put(2, "late").statusCode()).isEqualTo(FencingHeader.STALE);
        assertThat(put(6, "12").statusCode()).isEqualTo(200);
        assertThat(getAsReader(5).statusCode()).isEqualTo(FencingHeader.STALE);
    }

    /** Two readers do not exclude each other, so an update by one of them would be lost. */
    @Test
    void aReaderChangesNothing() throws Exception {
        assertThat(putAsReader(9, "11").statusCode()).isEqualTo(FencingHeader.MALFORMED);
        assertThat(putAsReader(7, "12").statusCode()).isEqualTo(FencingHeader.MALFORMED);
        assertThat(get(1).body()).as("and registers nothing").isEqualTo("10");
    }

    /** Holders whose leases end at any moment read and write later: no update that was answered with 200 is lost. */
    @Test
    void losesNoAcknowledgedUpdate() throws Exception {
        AtomicLong tokens = new AtomicLong();
        AtomicLong acknowledged = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        // At least one holder is certainly stopped between its read and its write.
        String seen = get(tokens.incrementAndGet()).body();
        List<Future<?>> runs = new ArrayList<>();
        for (int holder = 0; holder < HOLDERS; holder++) {
            runs.add(threads.submit(() -> {
                for (int turn = 0; turn < TURNS; turn++) {
                    long token = tokens.incrementAndGet();
                    HttpResponse<String> read = get(token);
                    LockSupport.parkNanos(200_000);
                    boolean written = read.statusCode() == 200
                            && put(token, Long.toString(Long.parseLong(read.body()) + 1))
                                            .statusCode()
                                    == 200;
                    (written ? acknowledged : refused).incrementAndGet();
                }
                return null;
            }));
        }
        for (Future<?> run : runs) {
            run.get();
        }
        assertThat(put(1, Long.toString(Long.parseLong(seen) + 1)).statusCode()).isEqualTo(FencingHeader.STALE);
        assertThat(acknowledged.get() + refused.get()).isEqualTo(HOLDERS * TURNS);
        assertThat(get(tokens.incrementAndGet()).body()).isEqualTo(Long.toString(10 + acknowledged.get()));
    }
}
