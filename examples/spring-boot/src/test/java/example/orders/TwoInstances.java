package example.orders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.springframework.jdbc.core.JdbcTemplate;

/** Two instances that share one PostgreSQL server, and the requests to them. */
final class TwoInstances implements AutoCloseable {

    private final Path directory;
    private final EmbeddedPostgres postgres;
    private final JdbcTemplate database;
    private final Map<String, Instance> instances = new LinkedHashMap<>();

    TwoInstances(Path directory) throws IOException, InterruptedException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            abort("no PostgreSQL server for " + system + " here: the archive is for Linux on x86-64");
        }
        this.directory = directory;
        this.postgres = EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(Path.of("target", "servers", "postgresql")
                        .toAbsolutePath()
                        .toFile())
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start();
        this.database = new JdbcTemplate(postgres.getPostgresDatabase());
        start("one");
        start("two");
    }

    void start(String name) throws IOException, InterruptedException {
        instances.put(name, Instance.start(name, postgres.getJdbcUrl("postgres", "postgres"), directory));
    }

    /** Adds items to one order on all instances at once, from two threads each. */
    void addItems(long order, int inEachThread) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<Future<?>> running = new ArrayList<>();
            for (Instance instance : instances.values()) {
                for (int i = 0; i < 2; i++) {
                    running.add(threads.submit(() -> {
                        for (int n = 0; n < inEachThread; n++) {
                            instance.post("/orders/" + order + "/items");
                        }
                        return null;
                    }));
                }
            }
            for (Future<?> one : running) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    long items(long order) {
        return number("select items from orders where id = " + order);
    }

    /** Waits until this many settlements have ended, counting those that begin from now on. */
    void awaitSettlements(int count) throws InterruptedException {
        long before = number("select coalesce(max(token), 0) from settlement");
        await("select count(*) from settlement where ended is not null and token > " + before, count);
    }

    /** Kills the instance that is settling, in the middle of the settlement. */
    String killTheOneThatSettles() throws InterruptedException {
        await(
                "select count(*) from settlement s where ended is null and token = (select max(token) from settlement)",
                1);
        String name = database.queryForObject(
                "select instance from settlement where token = (select max(token) from settlement)", String.class);
        instances.remove(name).kill();
        return name;
    }

    void requireNoTwoSettlementsAtOnce() {
        assertThat(number("select count(*) from settlement a join settlement b on a.token < b.token"
                        + " where b.began < coalesce(a.ended, a.began)"))
                .isZero();
    }

    Instance remaining() {
        return instances.values().iterator().next();
    }

    private void await(String count, int atLeast) throws InterruptedException {
        long began = System.nanoTime();
        while (number(count) < atLeast) {
            assertThat(System.nanoTime() - began)
                    .as("waiting for %s of: %s", atLeast, count)
                    .isLessThan(Duration.ofMinutes(2).toNanos());
            Thread.sleep(10);
        }
    }

    private long number(String query) {
        Long number = database.queryForObject(query, Long.class);
        return number == null ? 0L : number;
    }

    @Override
    public void close() throws IOException, InterruptedException {
        try {
            for (Instance instance : instances.values()) {
                instance.close();
            }
        } finally {
            postgres.close();
        }
    }
}
