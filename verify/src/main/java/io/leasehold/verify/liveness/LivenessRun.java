package io.leasehold.verify.liveness;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

/** Servers, clients, turns. Each client is a store with its own connections, in this process. */
final class LivenessRun {

    private static final int ROUNDS_MEASURED = 300;
    private static final Duration WARM_UP = Duration.ofSeconds(5);
    private static final String LOCK = "turn";

    private LivenessRun() {}

    static TurnCounts run(int clients, int nodes, Duration time, Duration hold)
            throws InterruptedException, ExecutionException {
        List<AutoCloseable> opened = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        try {
            String uri = servers(nodes, opened);
            List<LockClient> stores = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                LockClient store = Leasehold.builder()
                        .store(uri)
                        .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(10)))
                        .connect();
                opened.add(store);
                stores.add(store);
            }
            stores.get(0).admin().declareNewNodes();
            // The first rounds of each include the set-up of connections and the compilation of code.
            for (LockClient store : stores) {
                medianRound(store);
            }
            // So do the first turns.
            contend(threads, stores, new TurnCounts(clients, (int) WARM_UP.toSeconds(), 0, 0), WARM_UP, hold);
            TurnCounts counts =
                    new TurnCounts(clients, (int) time.toSeconds(), hold.toNanos(), medianRound(stores.get(0)));
            contend(threads, stores, counts, time, hold);
            return counts;
        } finally {
            threads.shutdownNow();
            closeAll(opened);
        }
    }

    private static void contend(
            ExecutorService threads, List<LockClient> stores, TurnCounts counts, Duration time, Duration hold)
            throws InterruptedException, ExecutionException {
        List<Future<?>> turns = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < stores.size(); i++) {
            int client = i;
            turns.add(threads.submit(() -> {
                takeTurns(stores.get(client), client, counts, start, time.toNanos(), hold.toNanos());
                return null;
            }));
        }
        for (Future<?> one : turns) {
            one.get();
        }
    }

    private static void takeTurns(
            LockClient store, int client, TurnCounts counts, long start, long timeNanos, long holdNanos)
            throws InterruptedException {
        while (System.nanoTime() - start < timeNanos) {
            long asked = System.nanoTime();
            try (Lease lease = store.named(LOCK).acquire()) {
                long now = System.nanoTime();
                counts.granted(client, now - start, now - asked, lease.fencingToken());
                while (System.nanoTime() - now < holdNanos) {
                    LockSupport.parkNanos(holdNanos - (System.nanoTime() - now));
                }
            }
        }
    }

    private static long medianRound(LockClient store) throws InterruptedException {
        long[] rounds = new long[ROUNDS_MEASURED];
        for (int i = 0; i < rounds.length; i++) {
            long asked = System.nanoTime();
            try (Lease lease = store.named("alone").acquire()) {
                rounds[i] = System.nanoTime() - asked;
                lease.ensureValidFor(Duration.ZERO);
            }
        }
        Arrays.sort(rounds);
        return rounds[rounds.length / 2];
    }

    private static String servers(int nodes, List<AutoCloseable> opened) {
        StringBuilder uri = new StringBuilder("redlock:?maxTtl=10s");
        for (int node = 0; node < nodes; node++) {
            RedisServer server = RedisServer.start();
            opened.add(server);
            uri.append("&node=").append(URLEncoder.encode(server.uri(), StandardCharsets.UTF_8));
        }
        return uri.toString();
    }

    private static void closeAll(List<AutoCloseable> opened) {
        for (int i = opened.size() - 1; i >= 0; i--) {
            try {
                opened.get(i).close();
            } catch (Exception e) {
                System.err.println("cannot close " + opened.get(i) + ": " + e);
            }
        }
    }
}
