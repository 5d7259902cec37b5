package io.leasehold.spring;

import static io.leasehold.spring.CounterApplication.PAUSE;
import static io.leasehold.spring.CounterApplication.THREADS;
import static io.leasehold.spring.CounterApplication.committed;
import static io.leasehold.spring.CounterApplication.inAllThreads;
import static io.leasehold.spring.CounterApplication.incrementing;
import static io.leasehold.spring.CounterApplication.overRedisson;
import static io.leasehold.spring.CounterApplication.untilAnswered;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.spring.CounterApplication.Counter;
import io.leasehold.spring.CounterApplication.FencedCounter;
import io.leasehold.spring.CounterApplication.PauseBeforeCommit;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** One of the processes of {@link LostUpdatesOfTwoProcessesTest}: eight threads change the row, and it says how that went. */
final class CounterProcess {

    /** Before what it says at its end. */
    static final String RESULT = "result ";

    /** How the row is changed. */
    enum Way {
        LOCKED,
        PAUSED_INSIDE,
        PAUSED_INSIDE_OVER_REDISSON,
        PAUSED_BEFORE_COMMIT,
        PAUSED_BEFORE_COMMIT_FENCED
    }

    /**
     * What came of it.
     *
     * @param written updates whose caller was told that they are committed
     * @param paused holders that stood still
     * @param refused commits that the guard has refused
     * @param commits that were let through by the guard, and then perhaps stood still
     */
    record Result(int written, int paused, int refused, int commits) {

        Result plus(Result other) {
            return new Result(
                    written + other.written, paused + other.paused, refused + other.refused, commits + other.commits);
        }

        String text() {
            return RESULT + written + " " + paused + " " + refused + " " + commits;
        }

        static Result of(String text) {
            String[] numbers = text.substring(RESULT.length()).split(" ", -1);
            return new Result(
                    Integer.parseInt(numbers[0]),
                    Integer.parseInt(numbers[1]),
                    Integer.parseInt(numbers[2]),
                    Integer.parseInt(numbers[3]));
        }
    }

    private final AtomicInteger turns = new AtomicInteger();
    private final AtomicInteger paused = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();

    private CounterProcess() {}

    /** The way, how often each thread does it, the database, and the Redis of Redisson. */
    public static void main(String[] arguments) throws Exception {
        HikariConfig pool = new HikariConfig();
        pool.setJdbcUrl(arguments[2]);
        pool.setMaximumPoolSize(2 * THREADS + 4);
        try (HikariDataSource database = new HikariDataSource(pool);
                AnnotationConfigApplicationContext application = CounterApplication.over(database)) {
            Result result = new CounterProcess()
                    .run(application, Way.valueOf(arguments[0]), Integer.parseInt(arguments[1]), arguments[3]);
            System.out.println(result.text());
        }
    }

    private Result run(AnnotationConfigApplicationContext application, Way way, int times, String redis)
            throws Exception {
        Counter counter = application.getBean(Counter.class);
        FencedCounter fenced = application.getBean(FencedCounter.class);
        PauseBeforeCommit pause = new PauseBeforeCommit();
        if (way == Way.PAUSED_BEFORE_COMMIT || way == Way.PAUSED_BEFORE_COMMIT_FENCED) {
            ((ConfigurableTransactionManager) application.getBean(PlatformTransactionManager.class)).addListener(pause);
        }
        int written = switch (way) {
            case LOCKED -> inAllThreads(times, List.of(incrementing(counter)));
            case PAUSED_INSIDE -> inAllThreads(times, List.of(pausedInside(counter)));
            case PAUSED_INSIDE_OVER_REDISSON -> overRedissonAt(redis, application, times);
            case PAUSED_BEFORE_COMMIT ->
                inAllThreads(times, List.of(() -> committed(() -> counter.incrementWithPause(1, 0))));
            case PAUSED_BEFORE_COMMIT_FENCED ->
                inAllThreads(times, List.of(() -> committed(() -> fenced.incrementUnrenewed(1, 0))));
        };
        return new Result(written, paused.get(), refused.get(), pause.commits.get());
    }

    private int overRedissonAt(String redis, AnnotationConfigApplicationContext application, int times)
            throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(redis);
        RedissonClient redisson = Redisson.create(config);
        try {
            return inAllThreads(times, List.of(pausedInside(overRedisson(application, redisson))));
        } finally {
            redisson.shutdown();
        }
    }

    /** Each fifth holder stands still beyond the ttl. */
    private Callable<Boolean> pausedInside(Counter counter) {
        return () -> {
            boolean pauses = turns.incrementAndGet() % 5 == 0;
            try {
                untilAnswered(() -> counter.incrementWithPause(1, pauses ? PAUSE.toMillis() : 0));
                return true;
            } catch (LeaseLostException | LeaseAtRiskException e) {
                refused.incrementAndGet();
                return false;
            } finally {
                if (pauses) {
                    paused.incrementAndGet();
                }
            }
        };
    }
}
