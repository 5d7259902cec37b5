package io.leasehold.spring;

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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.BeanFactoryTransactionAttributeSourceAdvisor;

/** An application that changes one row by reading and writing it, without a lock on the row. */
final class CounterApplication {

    private static final Logger LOG = LoggerFactory.getLogger(CounterApplication.class);

    static final int THREADS = 8;

    static final Duration TTL = Duration.ofMillis(200);
    static final Duration PAUSE = Duration.ofMillis(260);

    /**
     * The value of the annotation below. A commit that takes longer may come after the end of the lease: the guard
     * cannot know.
     */
    static final Duration COMMIT_GUARD = Duration.ofMillis(120);

    private CounterApplication() {}

    static AnnotationConfigApplicationContext over(DataSource database) {
        AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
        application.registerBean("database", DataSource.class, () -> new UnclosedDataSource(database));
        application.register(Beans.class);
        application.refresh();
        return application;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    @EnableTransactionManagement
    static class Beans {

        @Bean
        LockClient locks(DataSource database) {
            return Leasehold.builder()
                    .store(JdbcStores.over(database, SqlDialect.POSTGRESQL))
                    .connect();
        }

        /** Its leases expire, like those of a paused process. */
        @Bean(autowireCandidate = false)
        LockClient unrenewed(DataSource database) {
            return Leasehold.builder()
                    .store(JdbcStores.over(database, SqlDialect.POSTGRESQL))
                    .defaults(LockOptions.defaults().ttl(TTL).renewal(Renewal.none()))
                    .connect();
        }

        @Bean
        JdbcTemplate jdbc(DataSource database) {
            return new JdbcTemplate(database);
        }

        @Bean
        Commits commits() {
            return new Commits();
        }

        @Bean
        PlatformTransactionManager transactions(DataSource database, Commits commits) {
            JdbcTransactionManager manager = new JdbcTransactionManager(database);
            manager.addListener(commits);
            return manager;
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

        @Locked(
                name = "counter:{}",
                key = "#id",
                maxWait = "1m",
                client = "unrenewed",
                onLoss = OnLoss.NOTIFY,
                commitGuard = "120ms")
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

    /**
     * The number of commits: a lease that is lost between the commit and the end of the method is told to the caller, too. It hears of a commit before
     * the guard does.
     */
    static final class Commits implements TransactionExecutionListener {

        private final AtomicInteger all = new AtomicInteger();
        private final AtomicInteger slow = new AtomicInteger();
        private final ThreadLocal<Integer> ofThread = ThreadLocal.withInitial(() -> 0);
        private final ThreadLocal<Long> beganAtNanos = new ThreadLocal<>();

        int all() {
            return all.get();
        }

        /** Those for which the machine took longer than the guard: for them it promises nothing. */
        int slow() {
            return slow.get();
        }

        /** How many of them this thread has made. */
        int ofThread() {
            return ofThread.get();
        }

        @Override
        public void beforeCommit(TransactionExecution transaction) {
            beganAtNanos.set(System.nanoTime());
        }

        @Override
        public void afterCommit(TransactionExecution transaction, @Nullable Throwable failure) {
            if (failure == null) {
                all.incrementAndGet();
                ofThread.set(ofThread.get() + 1);
                if (System.nanoTime() - beganAtNanos.get() >= COMMIT_GUARD.toNanos()) {
                    slow.incrementAndGet();
                }
            }
        }
    }

    /** Pauses each fifth time between the check of the guard and the commit. */
    static final class PauseBeforeCommit implements TransactionExecutionListener {

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

    /** Runs the update, and repeats it if the store did not answer in time on a slow machine: then it has not begun. */
    static void untilAnswered(Update update) throws Exception {
        while (true) {
            try {
                update.run();
                return;
            } catch (LockStoreException unanswered) {
                LOG.debug("asked again", unanswered);
            }
        }
    }

    interface Update {
        void run() throws Exception;
    }

    /** Whether the update succeeded; a lost lease or a stale token counts as an answer. */
    static boolean committed(Update update) throws Exception {
        try {
            untilAnswered(update);
            return true;
        } catch (LeaseLostException | LeaseAtRiskException | StaleTokenException e) {
            return false;
        }
    }

    static Counter overRedisson(AnnotationConfigApplicationContext application, RedissonClient redisson) {
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
                unlock(lock);
            }
        });
        proxy.addAdvisor(application.getBean(BeanFactoryTransactionAttributeSourceAdvisor.class));
        return (Counter) proxy.getProxy();
    }

    private static void unlock(RLock lock) {
        if (lock.isHeldByCurrentThread()) {
            try {
                lock.unlock();
            } catch (IllegalMonitorStateException e) {
                LOG.debug("its lease ended between the two requests", e);
            }
        }
    }

    /** Runs the work this often in each thread of both, and counts the successes. */
    static int inAllThreads(int times, List<Callable<Boolean>> works) throws Exception {
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

    static Callable<Boolean> incrementing(Counter counter, int row) {
        return () -> {
            counter.increment(row);
            return true;
        };
    }
}
