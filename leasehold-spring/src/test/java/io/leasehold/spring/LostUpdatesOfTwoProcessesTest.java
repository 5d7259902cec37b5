package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.SqlDialect;
import io.leasehold.servers.RedisServer;
import io.leasehold.spring.CounterProcess.Result;
import io.leasehold.spring.CounterProcess.Way;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.core.JdbcTemplate;

/** The figures in docs/spring.md: two processes with eight threads each change one row. */
@Tag("full")
class LostUpdatesOfTwoProcessesTest {

    private static final Logger LOG = LoggerFactory.getLogger(LostUpdatesOfTwoProcessesTest.class);
    private static final int THREADS = 2 * CounterApplication.THREADS;

    /** Updates of each thread: -Dleasehold.updates=20000 and -Dleasehold.pauses=500 for the figures. */
    private static final int TIMES = Integer.getInteger("leasehold.updates", 1600) / THREADS;

    /** Updates of each thread where every fifth pauses. */
    private static final int TIMES_WITH_PAUSES = Math.max(1, Integer.getInteger("leasehold.pauses", 16) * 5 / THREADS);

    @TempDir
    private static Path directory;

    private static PostgresServer postgres;
    private static JdbcTemplate jdbc;

    @BeforeAll
    static void start() throws IOException {
        postgres = PostgresServer.start(directory);
        PGSimpleDataSource database = new PGSimpleDataSource();
        database.setUrl(postgres.url());
        jdbc = new JdbcTemplate(database);
        jdbc.execute(SqlDialect.POSTGRESQL.ddl());
        jdbc.execute("create table counter (id int primary key, value int not null, token bigint)");
    }

    @AfterAll
    static void stop() throws IOException {
        if (postgres != null) {
            postgres.close();
        }
    }

    @BeforeEach
    void zero() {
        jdbc.execute("delete from counter");
        jdbc.execute("insert into counter values (1, 0, null)");
    }

    private static int value() {
        return jdbc.queryForObject("select value from counter where id = 1", Integer.class);
    }

    private static Process started(Way way, int times, String redis, Path output) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        CounterProcess.class.getName(),
                        way.name(),
                        Integer.toString(times),
                        postgres.url(),
                        redis)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    /** What both processes say together. */
    private static Result inTwoProcesses(Way way, int times, String redis) throws IOException, InterruptedException {
        List<Path> outputs = List.of(directory.resolve(way + "-1.txt"), directory.resolve(way + "-2.txt"));
        Process one = started(way, times, redis, outputs.get(0));
        Process other = started(way, times, redis, outputs.get(1));
        try {
            one.waitFor(30, TimeUnit.MINUTES);
            other.waitFor(30, TimeUnit.MINUTES);
        } finally {
            one.destroyForcibly();
            other.destroyForcibly();
        }
        return result(outputs.get(0)).plus(result(outputs.get(1)));
    }

    private static Result result(Path output) throws IOException {
        String text = Files.readString(output, StandardCharsets.UTF_8);
        String line = text.lines()
                .filter(one -> one.startsWith(CounterProcess.RESULT))
                .findFirst()
                .orElseThrow(() -> new AssertionError("the process has said no result, but:\n" + text));
        return Result.of(line);
    }

    @Test
    void noUpdateIsLost() throws Exception {
        Result result = inTwoProcesses(Way.LOCKED, TIMES, "");
        LOG.info("{} updates written, {} lost", result.written(), result.written() - value());
        assertThat(result.written()).isEqualTo(TIMES * THREADS);
        assertThat(value()).isEqualTo(result.written());
    }

    @Test
    void pausesBeyondTheTtlAreRolledBackEachTime() throws Exception {
        Result result = inTwoProcesses(Way.PAUSED_INSIDE, TIMES_WITH_PAUSES, "");
        LOG.info(
                "{} holders were paused beyond the ttl, {} commits refused, {} updates written, {} lost",
                result.paused(),
                result.refused(),
                result.written(),
                result.written() - value());
        assertThat(result.paused()).isPositive();
        assertThat(result.refused()).isGreaterThanOrEqualTo(result.paused());
        assertThat(value()).isEqualTo(result.written());
    }

    /** Beside it: the lock of another library around the same transaction, in the right order, as its users write the annotation. */
    @Test
    void aLockThatNothingChecksBeforeTheCommitLosesUpdates() throws Exception {
        try (RedisServer redis = RedisServer.builder().start()) {
            Result result = inTwoProcesses(Way.PAUSED_INSIDE_OVER_REDISSON, TIMES_WITH_PAUSES, redis.uri());
            LOG.info(
                    "over Redisson, {} holders paused in the body: {} of {} lost",
                    result.paused(),
                    result.written() - value(),
                    result.written());
            assertThat(value()).isLessThan(result.written());
        }
    }

    /** What the guard cannot see: how many are lost is a matter of chance, so that only the token is held to a number. */
    @Test
    void pausesAfterTheGuardLoseNothingWithTheToken() throws Exception {
        Result unfenced = inTwoProcesses(Way.PAUSED_BEFORE_COMMIT, TIMES_WITH_PAUSES, "");
        LOG.info(
                "updates lost to a pause after the guard, without the token column: {} of {}",
                unfenced.commits() - value(),
                unfenced.commits());
        zero();
        Result fenced = inTwoProcesses(Way.PAUSED_BEFORE_COMMIT_FENCED, TIMES_WITH_PAUSES, "");
        LOG.info("and with it: {} of {}", fenced.commits() - value(), fenced.commits());
        assertThat(fenced.commits()).isPositive();
        assertThat(value()).isEqualTo(fenced.commits());
    }
}
