package io.leasehold.spring;

import static io.leasehold.spring.CounterApplication.PAUSE;
import static io.leasehold.spring.CounterApplication.THREADS;
import static io.leasehold.spring.CounterApplication.committed;
import static io.leasehold.spring.CounterApplication.inAllThreads;
import static io.leasehold.spring.CounterApplication.incrementing;
import static io.leasehold.spring.CounterApplication.overRedisson;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leasehold.spring.CounterApplication.Commits;
import io.leasehold.spring.CounterApplication.Counter;
import io.leasehold.spring.CounterApplication.FencedCounter;
import io.leasehold.spring.CounterApplication.PauseBeforeCommit;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * One of the processes of {@link LostUpdatesOfTwoProcessesTest}. All ways run at the same time, since nothing else
 * happens to a row during a pause. In each way eight threads change its own row, and the process reports the result.
 */
final class CounterProcess {

    /** The way in which a row is changed. */
    enum Way {
        LOCKED(1),
        PAUSED_INSIDE(2),
        PAUSED_INSIDE_OVER_REDISSON(3),
        PAUSED_BEFORE_COMMIT(4),
        PAUSED_BEFORE_COMMIT_FENCED(5);

        private final int row;

        Way(int row) {
            this.row = row;
        }

        /** The id of its row. */
        int row() {
            return row;
        }

        /** The label before its result in the output of a process. */
        String label() {
            return "result of " + name() + ": ";
        }
    }

    /**
     * The outcome.
     *
     * @param committed updates that were
     * @param paused holders that stood still in their body
     * @param refused those of them whose commit was refused
     * @param others commits that were refused without a pause, on a slow machine
     * @param slow commits that took longer than the guard sees ahead, on a slow machine
     */
    record Result(int committed, int paused, int refused, int others, int slow) {

        Result plus(Result other) {
            return new Result(
                    committed + other.committed,
                    paused + other.paused,
                    refused + other.refused,
                    others + other.others,
                    slow + other.slow);
        }

        String text() {
            return committed + " " + paused + " " + refused + " " + others + " " + slow;
        }

        static Result of(String text) {
            String[] numbers = text.split(" ", -1);
            return new Result(
                    Integer.parseInt(numbers[0]),
                    Integer.parseInt(numbers[1]),
                    Integer.parseInt(numbers[2]),
                    Integer.parseInt(numbers[3]),
                    Integer.parseInt(numbers[4]));
        }
    }

    private final AtomicInteger turns = new AtomicInteger();
    private final AtomicInteger paused = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger others = new AtomicInteger();

    private final Way way;

    private CounterProcess(Way way) {
        this.way = way;
    }

    /** How often each thread changes its row, how often where each fifth time is a pause, the database, and the Redis of Redisson. */
    public static void main(String[] arguments) throws Exception {
        HikariConfig pool = new HikariConfig();
        pool.setJdbcUrl(arguments[2]);
        pool.setMaximumPoolSize(Way.values().length * (2 * THREADS + 4));
        pool.setMinimumIdle(0);
        ExecutorService ways = Executors.newCachedThreadPool();
        try (HikariDataSource database = new HikariDataSource(pool)) {
            long beganAtNanos = System.nanoTime();
            Map<Way, Future<Result>> running = new EnumMap<>(Way.class);
            for (Way way : Way.values()) {
                int times = Integer.parseInt(arguments[way == Way.LOCKED ? 0 : 1]);
                running.put(way, ways.submit(() -> {
                    Result result = new CounterProcess(way).run(database, times, arguments[3]);
                    System.out.printf("%s ended after %d s%n", way, (System.nanoTime() - beganAtNanos) / 1_000_000_000);
                    return result;
                }));
            }
            for (Map.Entry<Way, Future<Result>> one : running.entrySet()) {
                System.out.println(one.getKey().label() + one.getValue().get().text());
            }
        } finally {
            ways.shutdownNow();
        }
    }

    private Result run(DataSource database, int times, String redis) throws Exception {
        try (AnnotationConfigApplicationContext application = CounterApplication.over(database)) {
            Counter counter = application.getBean(Counter.class);
            FencedCounter fenced = application.getBean(FencedCounter.class);
            if (way == Way.PAUSED_BEFORE_COMMIT || way == Way.PAUSED_BEFORE_COMMIT_FENCED) {
                ((ConfigurableTransactionManager) application.getBean(PlatformTransactionManager.class))
                        .addListener(new PauseBeforeCommit());
            }
            int row = way.row();
            Commits commits = application.getBean(Commits.class);
            switch (way) {
                case LOCKED -> inAllThreads(times, List.of(incrementing(counter, row)));
                case PAUSED_INSIDE -> inAllThreads(times, List.of(pausedInside(counter, commits)));
                case PAUSED_INSIDE_OVER_REDISSON -> overRedissonAt(redis, application, times);
                case PAUSED_BEFORE_COMMIT ->
                    inAllThreads(times, List.of(() -> committed(() -> counter.incrementWithPause(row, 0))));
                case PAUSED_BEFORE_COMMIT_FENCED ->
                    inAllThreads(times, List.of(() -> committed(() -> fenced.incrementUnrenewed(row, 0))));
            }
            return new Result(commits.all(), paused.get(), refused.get(), others.get(), commits.slow());
        }
    }

    private void overRedissonAt(String redis, AnnotationConfigApplicationContext application, int times)
            throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(redis);
        RedissonClient redisson = Redisson.create(config);
        try {
            Counter counter = overRedisson(application, redisson);
            inAllThreads(times, List.of(pausedInside(counter, application.getBean(Commits.class))));
        } finally {
            redisson.shutdown();
        }
    }

    /** Each fifth holder pauses beyond the ttl. */
    private Callable<Boolean> pausedInside(Counter counter, Commits commits) {
        return () -> {
            boolean pauses = turns.incrementAndGet() % 5 == 0;
            int before = commits.ofThread();
            boolean committed = committed(() -> counter.incrementWithPause(way.row(), pauses ? PAUSE.toMillis() : 0));
            if (pauses) {
                paused.incrementAndGet();
            }
            if (commits.ofThread() == before) {
                (pauses ? refused : others).incrementAndGet();
            }
            return committed;
        };
    }
}
