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
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Measures the figures in docs/spring.md: two processes with eight threads each change one row, in several ways at the
 * same time, each with its own row and lock.
 */
@Tag("full")
class LostUpdatesOfTwoProcessesTest {

    private static final Logger LOG = LoggerFactory.getLogger(LostUpdatesOfTwoProcessesTest.class);
    private static final int THREADS = 2 * CounterApplication.THREADS;

    /** Updates of each thread: -Dleasehold.updates=20000 and -Dleasehold.pauses=500 for the figures. */
    private static final int TIMES = Integer.getInteger("leasehold.updates", 1600) / THREADS;

    /** Updates of each thread where every fifth pauses. */
    private static final int TIMES_WITH_PAUSES =
            (Integer.getInteger("leasehold.pauses", 16) * 5 + THREADS - 1) / THREADS;

    private static final Map<Way, Result> RESULTS = new EnumMap<>(Way.class);
    private static final Map<Way, Integer> VALUES = new EnumMap<>(Way.class);

    @TempDir
    private static Path directory;

    @BeforeAll
    static void run() throws IOException, InterruptedException {
        try (PostgresServer postgres = PostgresServer.start(directory);
                RedisServer redis = RedisServer.builder().start()) {
            PGSimpleDataSource database = new PGSimpleDataSource();
            database.setUrl(postgres.url());
            JdbcTemplate jdbc = new JdbcTemplate(database);
            jdbc.execute(SqlDialect.POSTGRESQL.ddl());
            jdbc.execute("create table counter (id int primary key, value int not null, token bigint)");
            for (Way way : Way.values()) {
                jdbc.update("insert into counter values (?, 0, null)", way.row());
            }
            inTwoProcesses(postgres.url(), redis.uri());
            for (Way way : Way.values()) {
                VALUES.put(
                        way, jdbc.queryForObject("select value from counter where id = ?", Integer.class, way.row()));
            }
        }
    }

    /** The sum of the results of both processes. */
    private static void inTwoProcesses(String postgres, String redis) throws IOException, InterruptedException {
        List<Path> outputs = List.of(directory.resolve("1.txt"), directory.resolve("2.txt"));
        List<Process> processes = new ArrayList<>();
        try {
            for (Path output : outputs) {
                processes.add(started(postgres, redis, output));
            }
            for (Process process : processes) {
                process.waitFor(30, TimeUnit.MINUTES);
            }
            for (Path output : outputs) {
                LOG.info(
                        "{}",
                        Files.readAllLines(output, StandardCharsets.UTF_8).stream()
                                .filter(line -> line.contains(" ended after "))
                                .toList());
            }
        } finally {
            processes.forEach(Process::destroyForcibly);
        }
        for (Way way : Way.values()) {
            RESULTS.put(way, result(way, outputs.get(0)).plus(result(way, outputs.get(1))));
        }
    }

    private static Process started(String postgres, String redis, Path output) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        CounterProcess.class.getName(),
                        Integer.toString(TIMES),
                        Integer.toString(TIMES_WITH_PAUSES),
                        postgres,
                        redis)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    private static Result result(Way way, Path output) throws IOException {
        String text = Files.readString(output, StandardCharsets.UTF_8);
        return text.lines()
                .filter(one -> one.startsWith(way.label()))
                .map(one -> Result.of(one.substring(way.label().length())))
                .findFirst()
                .orElseThrow(() -> new AssertionError("the process has said no result of " + way + ", but:\n" + text));
    }

    private static int lost(Way way) {
        return RESULTS.get(way).committed() - VALUES.get(way);
    }

    @Test
    void noUpdateIsLost() {
        int committed = RESULTS.get(Way.LOCKED).committed();
        LOG.info("{} updates committed, {} lost", committed, lost(Way.LOCKED));
        assertThat(committed).isEqualTo(TIMES * THREADS);
        assertThat(lost(Way.LOCKED)).isZero();
    }

    @Test
    void pausesBeyondTheTtlAreRolledBackEachTime() {
        Result result = RESULTS.get(Way.PAUSED_INSIDE);
        LOG.info(
                "{} holders were paused beyond the ttl, the commits of {} refused, and {} others; {} updates committed, {} of them"
                        + " slower than the guard sees ahead; {} lost",
                result.paused(),
                result.refused(),
                result.others(),
                result.committed(),
                result.slow(),
                lost(Way.PAUSED_INSIDE));
        assertThat(result.paused()).isGreaterThanOrEqualTo(TIMES_WITH_PAUSES * THREADS / 5 - 1);
        assertThat(result.refused()).isEqualTo(result.paused());
        assertThat(lost(Way.PAUSED_INSIDE)).isBetween(0, result.slow());
    }

    /**
     * For comparison: the lock of another library around the same transaction, in the right order, as its users write
     * the annotation.
     */
    @Test
    void aLockThatNothingChecksBeforeTheCommitLosesUpdates() {
        Result result = RESULTS.get(Way.PAUSED_INSIDE_OVER_REDISSON);
        LOG.info(
                "over Redisson, {} holders paused in the body: {} of {} lost",
                result.paused(),
                lost(Way.PAUSED_INSIDE_OVER_REDISSON),
                result.committed());
        assertThat(lost(Way.PAUSED_INSIDE_OVER_REDISSON)).isPositive();
    }

    /**
     * The case that the guard cannot see. The number of lost updates is random, so only the token is held to a number.
     */
    @Test
    void pausesAfterTheGuardLoseNothingWithTheToken() {
        LOG.info(
                "updates lost to a pause after the guard, without the token column: {} of {}",
                lost(Way.PAUSED_BEFORE_COMMIT),
                RESULTS.get(Way.PAUSED_BEFORE_COMMIT).committed());
        int fenced = RESULTS.get(Way.PAUSED_BEFORE_COMMIT_FENCED).committed();
        LOG.info("and with it: {} of {}", lost(Way.PAUSED_BEFORE_COMMIT_FENCED), fenced);
        assertThat(fenced).isPositive();
        assertThat(lost(Way.PAUSED_BEFORE_COMMIT_FENCED)).isZero();
    }
}
