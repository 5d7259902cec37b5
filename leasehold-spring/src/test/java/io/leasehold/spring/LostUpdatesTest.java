package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.jdbc.JdbcStores;
import io.leasehold.jdbc.SqlDialect;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.BeanFactoryTransactionAttributeSourceAdvisor;

/**
 * Two clients with eight threads each change one row by reading and writing it, with no lock of the row: what the lock is for, and what
 * it cannot do in the wrong order.
 */
@Tag("quick")
class LostUpdatesTest {

    private static final int THREADS = 8;

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
        new JdbcTemplate(database).execute("create table counter (id int primary key, value int not null)");
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
        new JdbcTemplate(database).execute("insert into counter values (1, 0)");
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
                    .defaults(LockOptions.defaults().ttl(Duration.ofMillis(150)).renewal(Renewal.none()))
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
        Counter counter(JdbcTemplate jdbc) {
            return new Counter(jdbc);
        }
    }

    static class Counter {

        private final JdbcTemplate jdbc;

        Counter(JdbcTemplate jdbc) {
            this.jdbc = jdbc;
        }

        @Locked(name = "counter:{}", key = "#id", maxWait = "1m")
        @Transactional
        public void increment(int id) {
            Integer value = jdbc.queryForObject("select value from counter where id = ?", Integer.class, id);
            jdbc.update("update counter set value = ? where id = ?", value + 1, id);
        }

        @Locked(name = "counter:{}", key = "#id", maxWait = "1m", client = "unrenewed", onLoss = OnLoss.NOTIFY)
        @Transactional
        public void incrementWithPause(int id, long pauseMillis) throws InterruptedException {
            Integer value = jdbc.queryForObject("select value from counter where id = ?", Integer.class, id);
            if (pauseMillis > 0) {
                Thread.sleep(pauseMillis);
            }
            jdbc.update("update counter set value = ? where id = ?", value + 1, id);
        }
    }

    private static int value() {
        return new JdbcTemplate(database).queryForObject("select value from counter where id = 1", Integer.class);
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
                25, List.of(incrementing(first.getBean(Counter.class)), incrementing(second.getBean(Counter.class))));
        assertThat(written).isEqualTo(25 * THREADS * 2);
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
                    counter.incrementWithPause(1, pauses ? 200 : 0);
                    return true;
                } catch (LeaseLostException e) {
                    refused.incrementAndGet();
                    return false;
                } finally {
                    if (pauses) {
                        paused.incrementAndGet();
                    }
                }
            });
        }
        int written = inAllThreads(5, works);
        assertThat(paused.get()).isEqualTo(5 * THREADS * 2 / 5);
        assertThat(refused.get()).isGreaterThanOrEqualTo(paused.get());
        assertThat(value()).isEqualTo(written);
    }

    /** The control: were this green with the lock inside of the transaction, the tests above would prove nothing. */
    @Test
    void inTheWrongOrderUpdatesAreLost() throws Exception {
        int written = inAllThreads(25, List.of(incrementing(wrongly(first)), incrementing(wrongly(second))));
        assertThat(written).isEqualTo(25 * THREADS * 2);
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
            try (Lease lease =
                    application.getBean("locks", LockClient.class).named("counter:1").acquire()) {
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
