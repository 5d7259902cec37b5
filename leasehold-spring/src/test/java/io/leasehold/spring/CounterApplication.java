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

/** An application that changes one row by reading and writing it, with no lock of the row. */
final class CounterApplication {

    private static final Logger LOG = LoggerFactory.getLogger(CounterApplication.class);

    static final int THREADS = 8;

    static final Duration TTL = Duration.ofMillis(300);
    static final Duration PAUSE = Duration.ofMillis(400);

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

        /** Its leases end by themselves, as those of a process that is paused do. */
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
    static final class PauseBeforeCommit implements TransactionExecutionListener {

        final AtomicInteger commits = new AtomicInteger();

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

    /** The update, again if no answer of the store came in time, on a slow machine: then it has not begun. */
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

    /** Whether it went well; a lease that was over, or a token that was too old, is an answer here. */
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
                if (lock.isHeldByCurrentThread()) {
                    lock.unlock();
                }
            }
        });
        proxy.addAdvisor(application.getBean(BeanFactoryTransactionAttributeSourceAdvisor.class));
        return (Counter) proxy.getProxy();
    }

    /** Runs the work so often in each of the threads of both, and counts how often it succeeded. */
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

    static Callable<Boolean> incrementing(Counter counter) {
        return () -> {
            counter.increment(1);
            return true;
        };
    }
}
