package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.Renewal;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.StaleTokenException;
import io.leasehold.jdbc.JdbcStores;
import io.leasehold.jdbc.SqlDialect;
import io.leasehold.jdbc.SqlFencingGuard;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.BeanFactoryTransactionAttributeSourceAdvisor;

/**
 * Two clients with eight threads each change one row by reading and writing it, with no lock of the row: what the lock is for, and what
 * it cannot do in the wrong order.
 */
@Tag("full")
class LostUpdatesTest {

    private static final Logger LOG = LoggerFactory.getLogger(LostUpdatesTest.class);
    private static final int THREADS = 8;

    private static final Duration TTL = Duration.ofMillis(300);
    private static final Duration PAUSE = Duration.ofMillis(400);

    /** Updates of each thread: -Dleasehold.updates=20000 and -Dleasehold.pauses=500 for the figures in docs/spring.md. */
    private static final int TIMES = Integer.getInteger("leasehold.updates", 400) / THREADS / 2;

    /** Updates of each thread where some pause: every fifth does. */
    private static final int TIMES_WITH_PAUSES =
            Math.max(1, Integer.getInteger("leasehold.pauses", 6) * 5 / THREADS / 2);

    @TempDir
    private static Path directory;

    private static PostgresServer postgres;
    private static HikariDataSource database;

    private AnnotationConfigApplicationContext first;
    private AnnotationConfigApplicationContext second;

    @BeforeAll
    static void start() throws IOException {
        postgres = PostgresServer.start(directory);
        HikariConfig pool = new HikariConfig();
        pool.setJdbcUrl(postgres.url());
        pool.setMaximumPoolSize(4 * THREADS + 8);
        database = new HikariDataSource(pool);
        new JdbcTemplate(database).execute(SqlDialect.POSTGRESQL.ddl());
        new JdbcTemplate(database)
                .execute("create table counter (id int primary key, value int not null, token bigint)");
    }

    @AfterAll
    static void stop() throws IOException {
        if (postgres != null) {
            database.close();
            postgres.close();
        }
    }

    @BeforeEach
    void twoApplications() {
        new JdbcTemplate(database).execute("delete from counter");
        new JdbcTemplate(database).execute("insert into counter values (1, 0, null)");
        first = Application.of(Database.class);
        second = Application.of(Database.class);
    }

    @AfterEach
    void close() {
        first.close();
        second.close();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    @EnableTransactionManagement
    static class Database {

        @Bean
        LockClient locks() {
            return Leasehold.builder()
                    .store(JdbcStores.over(database, SqlDialect.POSTGRESQL))
                    .connect();
        }

        /** Its leases end by themselves, as those of a process that is paused do. */
        @Bean(autowireCandidate = false)
        LockClient unrenewed() {
            return Leasehold.builder()
                    .store(JdbcStores.over(database, SqlDialect.POSTGRESQL))
                    .defaults(LockOptions.defaults().ttl(TTL).renewal(Renewal.none()))
                    .connect();
        }

        @Bean
        DataSource database() {
            return new UnclosedDataSource(database);
        }

        @Bean
        JdbcTemplate jdbc(DataSource database) {
            return new JdbcTemplate(database);
        }

        @Bean
        PlatformTransactionManager transactions(DataSource database) {
            return new JdbcTransactionManager(database);
        }

        @Bean
        FencedCounter fencedCounter(JdbcTemplate jdbc) {
            return new FencedCounter(jdbc);
        }

        @Bean
        Counter counter(JdbcTemplate jdbc) {
            return new Counter(jdbc);
        }
    }

    static class Counter {

        private final JdbcTemplate jdbc;
        private volatile Runnable afterReading = () -> {};

        Counter(JdbcTemplate jdbc) {
            this.jdbc = jdbc;
        }

        void afterReading(Runnable told) {
            afterReading = told;
        }

        @Locked(name = "counter:{}", key = "#id", maxWait = "1m")
        @Transactional
        public void increment(int id) {
            Integer value = jdbc.queryForObject("select value from counter where id = ?", Integer.class, id);
            afterReading.run();
            jdbc.update("update counter set value = ? where id = ?", value + 1, id);
        }

        @Locked(name = "counter:{}", key = "#id", maxWait = "1m", client = "unrenewed", onLoss = OnLoss.NOTIFY)
        @Transactional
        public void incrementWithPause(int id, long pauseMillis) throws InterruptedException {
            Integer value = jdbc.queryForObject("select value from counter where id = ?", Integer.class, id);
            afterReading.run();
            if (pauseMillis > 0) {
                Thread.sleep(pauseMillis);
            }
            jdbc.update("update counter set value = ? where id = ?", value + 1, id);
        }
    }

    /** With the fencing token in a column of the row, shown before anything is read. */
    static class FencedCounter {

        private static final SqlFencingGuard ROWS = SqlFencingGuard.of("counter", "id", "token");

        private final JdbcTemplate jdbc;
        private volatile Runnable whenEntered = () -> {};

        FencedCounter(JdbcTemplate jdbc) {
            this.jdbc = jdbc;
        }

        void whenEntered(Runnable told) {
            whenEntered = told;
        }

        @Locked(name = "counter:{}", key = "#id", maxWait = "1m")
        @Transactional
        public void increment(int id, @FencingToken long token) {
            admittedAndIncremented(id, token);
        }

        @Locked(name = "counter:{}", key = "#id", maxWait = "1m", client = "unrenewed", onLoss = OnLoss.NOTIFY)
        @Transactional
        public void incrementUnrenewed(int id, @FencingToken long token) {
            admittedAndIncremented(id, token);
        }

        private void admittedAndIncremented(int id, long token) {
            whenEntered.run();
            jdbc.execute((ConnectionCallback<Admission>) connection -> {
                Admission admission = ROWS.admit(connection, id, token);
                admission.orElseThrow();
                return admission;
            });
            Integer value = jdbc.queryForObject("select value from counter where id = ?", Integer.class, id);
            jdbc.update("update counter set value = ? where id = ?", value + 1, id);
        }
    }

    /** Stands still between the guard, which is asked first, and the commit, each fifth time. */
    private static final class PauseBeforeCommit implements TransactionExecutionListener {

        private final AtomicInteger commits = new AtomicInteger();

        @Override
        public void beforeCommit(TransactionExecution transaction) {
            if (commits.incrementAndGet() % 5 == 0) {
                try {
                    Thread.sleep(PAUSE.toMillis());
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        }
    }

    private static int value() {
        return new JdbcTemplate(database).queryForObject("select value from counter where id = 1", Integer.class);
    }

    /** The update, again if no answer of the store came in time, on a slow machine: then it has not begun. */
    private static void untilAnswered(Update update) throws Exception {
        while (true) {
            try {
                update.run();
                return;
            } catch (LockStoreException unanswered) {
                LOG.debug("asked again", unanswered);
            }
        }
    }

    /** Runs the work so often in each of the threads of both, and counts how often it succeeded. */
    private static int inAllThreads(int times, List<Callable<Boolean>> works) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            AtomicInteger succeeded = new AtomicInteger();
            List<Future<?>> running = new ArrayList<>();
            for (Callable<Boolean> work : works) {
                for (int i = 0; i < THREADS; i++) {
                    running.add(threads.submit(() -> {
                        for (int n = 0; n < times; n++) {
                            if (work.call()) {
                                succeeded.incrementAndGet();
                            }
                        }
                        return null;
                    }));
                }
            }
            for (Future<?> one : running) {
                one.get();
            }
            return succeeded.get();
        } finally {
            threads.shutdownNow();
        }
    }

    private static Callable<Boolean> incrementing(Counter counter) {
        return () -> {
            counter.increment(1);
            return true;
        };
    }

    @Test
    void noUpdateIsLost() throws Exception {
        int written = inAllThreads(
                TIMES,
                List.of(incrementing(first.getBean(Counter.class)), incrementing(second.getBean(Counter.class))));
        assertThat(written).isEqualTo(TIMES * THREADS * 2);
        assertThat(value()).isEqualTo(written);
    }

    @Test
    void pausesBeyondTheTtlAreRolledBackEachTime() throws Exception {
        AtomicInteger turns = new AtomicInteger();
        AtomicInteger paused = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        List<Callable<Boolean>> works = new ArrayList<>();
        for (AnnotationConfigApplicationContext application : List.of(first, second)) {
            Counter counter = application.getBean(Counter.class);
            works.add(() -> {
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
            });
        }
        int written = inAllThreads(TIMES_WITH_PAUSES, works);
        assertThat(paused.get()).isEqualTo(TIMES_WITH_PAUSES * THREADS * 2 / 5);
        assertThat(refused.get()).isGreaterThanOrEqualTo(paused.get());
        LOG.info(
                "{} holders were paused beyond the ttl, {} commits refused, {} updates written",
                paused.get(),
                refused.get(),
                written);
        assertThat(value()).isEqualTo(written);
    }

    /** Beside it: the lock of another library around the same transaction, in the right order, as its users write the annotation. */
    @Test
    void aLockThatNothingChecksBeforeTheCommitLosesUpdates() throws Exception {
        try (RedisServer redis = RedisServer.builder().start()) {
            Config config = new Config();
            config.useSingleServer().setAddress(redis.uri());
            RedissonClient redisson = Redisson.create(config);
            try {
                AtomicInteger turns = new AtomicInteger();
                List<Callable<Boolean>> works = new ArrayList<>();
                for (AnnotationConfigApplicationContext application : List.of(first, second)) {
                    Counter counter = overRedisson(application, redisson);
                    works.add(() -> {
                        boolean pauses = turns.incrementAndGet() % 5 == 0;
                        counter.incrementWithPause(1, pauses ? PAUSE.toMillis() : 0);
                        return true;
                    });
                }
                int written = inAllThreads(TIMES_WITH_PAUSES, works);
                LOG.info("over Redisson, with the same pauses in the body: {} of {} lost", written - value(), written);
                assertThat(value()).isLessThan(written);
            } finally {
                redisson.shutdown();
            }
        }
    }

    private static Counter overRedisson(AnnotationConfigApplicationContext application, RedissonClient redisson) {
        ProxyFactory proxy = new ProxyFactory(new Counter(application.getBean(JdbcTemplate.class)));
        proxy.setProxyTargetClass(true);
        proxy.addAdvice((MethodInterceptor) invocation -> {
            RLock lock = redisson.getLock("counter:1");
            if (!lock.tryLock(60_000, TTL.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("busy");
            }
            try {
                return invocation.proceed();
            } finally {
                if (lock.isHeldByCurrentThread()) {
                    lock.unlock();
                }
            }
        });
        proxy.addAdvisor(application.getBean(BeanFactoryTransactionAttributeSourceAdvisor.class));
        return (Counter) proxy.getProxy();
    }

    /** What the guard cannot see, and the documents say: a pause between it and the commit, until the lease of another has begun. */
    @Test
    void aPauseAfterTheGuardLosesAnUpdateWithoutTheTokenAndNoneWithIt() throws Exception {
        CountDownLatch read = new CountDownLatch(1);
        second.getBean(Counter.class).afterReading(read::countDown);
        Counter counter = second.getBean(Counter.class);
        assertThat(pausedBeforeCommitUntil(
                        read, () -> first.getBean(Counter.class).incrementWithPause(1, 0), () -> counter.increment(1)))
                .isEqualTo(1);

        CountDownLatch entered = new CountDownLatch(1);
        FencedCounter fenced = second.getBean(FencedCounter.class);
        fenced.whenEntered(entered::countDown);
        assertThat(pausedBeforeCommitUntil(
                        entered,
                        () -> first.getBean(FencedCounter.class).incrementUnrenewed(1, 0),
                        () -> fenced.increment(1, 0)))
                .isEqualTo(2);
    }

    /** How far two updates come from zero of which the first, made again until the guard lets it pass, stands still before its commit. */
    private int pausedBeforeCommitUntil(CountDownLatch told, Update update, Update other) throws Exception {
        new JdbcTemplate(database).execute("update counter set value = 0");
        CountDownLatch pausing = new CountDownLatch(1);
        TransactionExecutionListener pause = new TransactionExecutionListener() {
            @Override
            public void beforeCommit(TransactionExecution transaction) {
                pausing.countDown();
                try {
                    assertThat(told.await(1, TimeUnit.MINUTES)).isTrue();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        };
        ConfigurableTransactionManager manager =
                (ConfigurableTransactionManager) first.getBean(PlatformTransactionManager.class);
        manager.setTransactionExecutionListeners(Stream.concat(
                        manager.getTransactionExecutionListeners().stream().limit(1), Stream.of(pause))
                .toList());
        CompletableFuture<Void> paused = CompletableFuture.runAsync(() -> {
            try {
                while (pausing.getCount() > 0) {
                    committed(update);
                }
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        assertThat(pausing.await(1, TimeUnit.MINUTES)).isTrue();
        other.run();
        paused.get(1, TimeUnit.MINUTES);
        return value();
    }

    /** The figure in docs/spring.md: only where it is asked for. */
    @Test
    void pausesAfterTheGuardInNumbers() throws Exception {
        assumeThat(System.getProperty("leasehold.pauses"))
                .as("-Dleasehold.pauses")
                .isNotNull();
        PauseBeforeCommit pause = new PauseBeforeCommit();
        List<Callable<Boolean>> unfenced = new ArrayList<>();
        List<Callable<Boolean>> fenced = new ArrayList<>();
        for (AnnotationConfigApplicationContext application : List.of(first, second)) {
            ((ConfigurableTransactionManager) application.getBean(PlatformTransactionManager.class)).addListener(pause);
            Counter counter = application.getBean(Counter.class);
            FencedCounter fencedCounter = application.getBean(FencedCounter.class);
            unfenced.add(() -> committed(() -> counter.incrementWithPause(1, 0)));
            fenced.add(() -> committed(() -> fencedCounter.incrementUnrenewed(1, 0)));
        }
        inAllThreads(TIMES_WITH_PAUSES, unfenced);
        int unfencedCommits = pause.commits.get();
        LOG.info(
                "updates lost to a pause after the guard, without the token column: {} of {}",
                unfencedCommits - value(),
                unfencedCommits);
        new JdbcTemplate(database).execute("update counter set value = 0");
        inAllThreads(TIMES_WITH_PAUSES, fenced);
        LOG.info(
                "and with it: {} of {}",
                pause.commits.get() - unfencedCommits - value(),
                pause.commits.get() - unfencedCommits);
        assertThat(value()).isEqualTo(pause.commits.get() - unfencedCommits);
    }

    private interface Update {
        void run() throws Exception;
    }

    /** Whether it went well; a lease that was over, or a token that was too old, is an answer here. */
    private static boolean committed(Update update) throws Exception {
        try {
            untilAnswered(update);
            return true;
        } catch (LeaseLostException | LeaseAtRiskException | StaleTokenException e) {
            return false;
        }
    }

    /** The control: were this green with the lock inside of the transaction, the tests above would prove nothing. */
    @Test
    void inTheWrongOrderUpdatesAreLost() throws Exception {
        int written = inAllThreads(TIMES, List.of(incrementing(wrongly(first)), incrementing(wrongly(second))));
        assertThat(written).isEqualTo(TIMES * THREADS * 2);
        assertThat(value()).isLessThan(written);
    }

    /**
     * As an annotation does it that is applied inside of the transaction: a release before the commit. Ours would keep the lease until
     * the transaction has completed, so a lease by hand stands for it.
     */
    private static Counter wrongly(AnnotationConfigApplicationContext application) {
        ProxyFactory proxy = new ProxyFactory(new Counter(application.getBean(JdbcTemplate.class)));
        proxy.setProxyTargetClass(true);
        proxy.addAdvisor(application.getBean(BeanFactoryTransactionAttributeSourceAdvisor.class));
        proxy.addAdvice((MethodInterceptor) invocation -> {
            try (Lease lease = application
                    .getBean("locks", LockClient.class)
                    .named("counter:1")
                    .acquire()) {
                return invocation.proceed();
            }
        });
        return (Counter) proxy.getProxy();
    }

    @Test
    void theAdvisorOfTheLockIsBeforeThatOfTheTransaction() {
        Advisor[] advisors = ((Advised) first.getBean(Counter.class)).getAdvisors();
        assertThat(advisors[0]).isInstanceOf(LockedAdvisor.class);
        assertThat(advisors[1]).isInstanceOf(BeanFactoryTransactionAttributeSourceAdvisor.class);
    }
}
