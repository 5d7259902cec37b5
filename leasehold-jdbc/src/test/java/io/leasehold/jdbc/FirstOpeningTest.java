package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Services that start at the same time on a database without tables: all of them open the same store. */
@Tag("full")
@Timeout(180)
class FirstOpeningTest {

    private static final int CLIENTS = 4;
    private static final int ROUNDS = 15;

    private static void openTogether(String url) throws Exception {
        CyclicBarrier start = new CyclicBarrier(CLIENTS);
        ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
        List<CompletableFuture<LockClient>> opened = new ArrayList<>();
        try {
            for (int i = 0; i < CLIENTS; i++) {
                opened.add(CompletableFuture.supplyAsync(
                        () -> {
                            try {
                                start.await();
                            } catch (Exception e) {
                                throw new AssertionError(e);
                            }
                            return Leasehold.connect(url);
                        },
                        threads));
            }
            List<Long> tokens = new ArrayList<>();
            for (CompletableFuture<LockClient> client : opened) {
                try (var lease = client.get().named("first").acquire()) {
                    tokens.add(lease.fencingToken());
                }
            }
            assertThat(tokens).isSorted().doesNotHaveDuplicates();
        } finally {
            threads.shutdown();
            opened.forEach(client -> client.handle(FirstOpeningTest::closed).join());
        }
    }

    private static boolean closed(@Nullable LockClient client, @Nullable Throwable failure) {
        if (client != null) {
            client.close();
        }
        return failure == null;
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void postgresql(@TempDir Path directory) throws Exception {
        try (PostgresServer server = PostgresServer.start(directory);
                Connection admin = DriverManager.getConnection(server.url())) {
            for (int round = 0; round < ROUNDS; round++) {
                execute(admin, "CREATE DATABASE fresh" + round);
                openTogether(server.url().replace("/postgres?", "/fresh" + round + "?"));
            }
        }
    }

    @Test
    void mariaDb(@TempDir Path directory) throws Exception {
        try (MariaDbServer server = MariaDbServer.start(directory);
                Connection admin = DriverManager.getConnection(server.url("mysql"))) {
            for (int round = 0; round < ROUNDS; round++) {
                execute(admin, "CREATE DATABASE fresh" + round);
                openTogether(server.url("fresh" + round));
            }
        }
    }

    @Test
    void h2() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            String url = "jdbc:h2:mem:" + UUID.randomUUID();
            try (Connection kept = DriverManager.getConnection(url)) {
                openTogether(url);
                assertThat(kept.isClosed()).isFalse();
            }
        }
    }
}
