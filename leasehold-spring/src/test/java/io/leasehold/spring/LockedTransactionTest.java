package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Tests of blocking transactions inside and outside of locked methods. */
@Tag("quick")
class LockedTransactionTest {

    private final AnnotationConfigApplicationContext application = Application.of(Database.class, Accounts.class);
    private final LockClient locks = application.getBean("locks", LockClient.class);
    private final JdbcTemplate jdbc = application.getBean(JdbcTemplate.class);
    private final Accounts accounts = application.getBean(Accounts.class);
    private final TransactionTemplate outer =
            new TransactionTemplate(application.getBean(PlatformTransactionManager.class));

    @AfterEach
    void close() {
        application.close();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    @EnableTransactionManagement
    static class Database {

        @Bean
        LockClient locks() {
            return Leasehold.connect("memory:");
        }

        /** A client whose leases end 200 ms after the request. */
        @Bean(autowireCandidate = false)
        LockClient short_() {
            return Leasehold.builder()
                    .store("memory:")
                    .defaults(LockOptions.defaults().ttl(Duration.ofMillis(200)).renewal(Renewal.none()))
                    .connect();
        }

        /** A client with long leases that only the guard renews. */
        @Bean(autowireCandidate = false)
        LockClient long_() {
            return Leasehold.builder()
                    .store("memory:")
                    .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(60)).renewal(Renewal.none()))
                    .connect();
        }

        @Bean
        DataSource database() {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1");
            return database;
        }

        @Bean
        JdbcTemplate jdbc(DataSource database) {
            JdbcTemplate jdbc = new JdbcTemplate(database);
            jdbc.execute("create table written (what varchar(100))");
            return jdbc;
        }

        @Bean
        PlatformTransactionManager transactions(DataSource database) {
            return new JdbcTransactionManager(database);
        }
    }

    static class Accounts {

        private final JdbcTemplate jdbc;
        private final TransactionTemplate own;

        Accounts(JdbcTemplate jdbc, PlatformTransactionManager manager) {
            this.jdbc = jdbc;
            this.own = new TransactionTemplate(manager);
        }

        private void write(String what) {
            jdbc.update("insert into written values (?)", what);
        }

        @Locked(name = "account", maxWait = "0")
        @Transactional
        public void pay(Runnable body) {
            write("paid");
            body.run();
        }

        @Locked(name = "account", maxWait = "0")
        public void payInOwnTransactions(Runnable between) {
            own.executeWithoutResult(status -> write("first"));
            between.run();
            own.executeWithoutResult(status -> write("second"));
        }

        @Locked(name = "account", maxWait = "0")
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void payApart(Runnable body) {
            write("paid");
            body.run();
        }

        @Locked(
                name = "{}",
                key = {"'account'", "'other'"},
                maxWait = "0")
        public void payBoth(Runnable body) {
            body.run();
        }

        @Locked(name = "short", maxWait = "0", client = "short_", onLoss = OnLoss.NOTIFY)
        @Transactional
        public void pausedBeyondTheTtl() {
            write("too late");
            sleep(250);
        }

        @Locked(name = "guarded", maxWait = "0", client = "long_", commitGuard = "58600ms", onLoss = OnLoss.NOTIFY)
        @Transactional
        public void slow() {
            write("renewed");
            sleep(1000); // of 59.398 s, so much is left that a renewal is needed, and helps
        }

        /** Requires more validity than the lease of an earlier call can have. */
        @Locked(name = "account", maxWait = "0", ttl = "2h", commitGuard = "1h")
        public void payWithLargeGuard() {
            write("guarded");
        }

        @Locked(name = "account", maxWait = "0")
        public CompletableFuture<Boolean> inTransactionOfTheStage() {
            return CompletableFuture.completedFuture(TransactionSynchronizationManager.isActualTransactionActive());
        }

        private static void sleep(long millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private Integer written(String what) {
        return jdbc.queryForObject("select count(*) from written where what = ?", Integer.class, what);
    }

    private void loseIt() {
        locks.admin().forceRelease("account", null);
    }

    @Test
    void theLockIsReleasedAfterTheCommit() {
        accounts.pay(() -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
            @Override
            public void afterCommit() {
                assertThat(locks.admin().inspect("account")).isPresent();
                jdbc.update("insert into written values ('after commit')");
            }
        }));
        assertThat(written("paid")).isOne();
        assertThat(written("after commit")).isOne();
        assertThat(locks.admin().inspect("account")).isEmpty();
    }

    @Test
    void aTransactionWhoseLeaseIsLostIsRolledBack() {
        assertThatThrownBy(() -> accounts.pay(this::loseIt)).isInstanceOf(LeaseLostException.class);
        assertThat(written("paid")).isZero();
    }

    @Test
    void aPauseBeyondTheTtlIsRolledBack() {
        assertThatThrownBy(accounts::pausedBeyondTheTtl).isInstanceOf(LeaseLostException.class);
        assertThat(written("too late")).isZero();
    }

    @Test
    void tooLittleValidityIsRenewedBeforeTheCommit() {
        accounts.slow();
        assertThat(written("renewed")).isOne();
    }

    @Test
    void aProgrammaticTransactionInsideIsRolledBackToo() {
        assertThatThrownBy(() -> accounts.payInOwnTransactions(this::loseIt)).isInstanceOf(LeaseLostException.class);
        assertThat(written("first")).isOne();
        assertThat(written("second")).isZero();
    }

    @Test
    void whatTheBodyThrowsRollsBackAndArrives() {
        RuntimeException failure = new RuntimeException("of the body");
        assertThat(catchThrowable(() -> accounts.pay(() -> {
                    throw failure;
                })))
                .isSameAs(failure);
        assertThat(written("paid")).isZero();
        assertThat(locks.admin().inspect("account")).isEmpty();
    }

    @Test
    void insideATransactionOfTheCallerTheLockIsKeptUntilThatHasCompleted() {
        outer.executeWithoutResult(status -> {
            accounts.pay(() -> {});
            assertThat(locks.admin().inspect("account")).isPresent();
        });
        assertThat(locks.admin().inspect("account")).isEmpty();
        assertThat(written("paid")).isOne();
        outer.executeWithoutResult(status -> {
            accounts.pay(() -> {});
            status.setRollbackOnly();
        });
        assertThat(locks.admin().inspect("account")).isEmpty();
        assertThat(written("paid")).isOne();
    }

    @Test
    void aTransactionOfTheCallerSharesTheLockThatItKeeps() {
        List<Long> tokens = new ArrayList<>();
        Runnable body = () -> tokens.add(Locks.current().fencingToken());
        outer.executeWithoutResult(status -> {
            accounts.pay(body);
            accounts.pay(body);
            accounts.payApart(body);
            assertThat(locks.admin().inspect("account")).isPresent();
            assertThatThrownBy(() -> accounts.payBoth(body))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("already holds some of them");
        });
        assertThat(tokens).hasSize(3).containsOnly(tokens.get(0));
        assertThat(written("paid")).isEqualTo(3);
        assertThat(locks.admin().inspect("account")).isEmpty();
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                    accounts.pay(body);
                    loseIt();
                    accounts.pay(body);
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(tokens).hasSize(4);
    }

    @Test
    void aCallThatSharesTheLockBringsItsCommitGuard() {
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                    accounts.pay(() -> {});
                    accounts.payWithLargeGuard();
                    accounts.pay(() -> {});
                }))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ensureValidFor(1h)");
        assertThat(written("guarded")).isZero();
        assertThat(locks.admin().inspect("account")).isEmpty();
        outer.executeWithoutResult(status -> {
            accounts.payWithLargeGuard();
            accounts.pay(() -> {});
        });
        assertThat(written("guarded")).isOne();
    }

    /**
     * Like a @TransactionalEventListener, which Spring calls after the transaction has completed, but while it still
     * counts as active.
     */
    @Test
    void whatHearsOfTheCompletionCanTakeTheLock() {
        List<String> heard = new ArrayList<>();
        outer.executeWithoutResult(status -> {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public int getOrder() {
                    return 0; // before those without an order
                }

                @Override
                public void afterCompletion(int status) {
                    accounts.payApart(() -> heard.add("paid"));
                    heard.add(locks.admin().inspect("account").isEmpty() ? "released" : "kept");
                }
            });
            accounts.pay(() -> {});
        });
        assertThat(heard).containsExactly("paid", "released");
        assertThat(written("paid")).isEqualTo(2);
    }

    /** The lease is checked last, in whatever order the synchronizations were registered. */
    @Test
    void aLeaseThatIsLostWhileOthersWriteBeforeTheCommitRollsItBack() {
        TransactionSynchronization slow = new TransactionSynchronization() {
            @Override
            public int getOrder() {
                return 0;
            }

            @Override
            public void beforeCommit(boolean readOnly) {
                loseIt();
            }
        };
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                    accounts.pay(() -> {});
                    TransactionSynchronizationManager.registerSynchronization(slow);
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(written("paid")).isZero();
    }

    @Test
    void aTransactionOfTheCallerIsRolledBackIfTheLeaseIsLostBeforeItsCommit() {
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                    accounts.pay(() -> {});
                    loseIt();
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(written("paid")).isZero();
    }

    @Test
    void anInnerTransactionOfItsOwnCommitsUnderTheLockAndTheLockStays() {
        outer.executeWithoutResult(status -> {
            accounts.payApart(() -> {});
            assertThat(written("paid")).isOne();
            assertThat(locks.admin().inspect("account")).isPresent();
        });
        assertThat(locks.admin().inspect("account")).isEmpty();
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> accounts.payApart(this::loseIt)))
                .isInstanceOf(LeaseLostException.class);
        assertThat(written("paid")).isOne();
    }

    @Test
    void aStageTakesNoPartInATransactionOfTheCaller() {
        outer.executeWithoutResult(status -> {
            assertThat(accounts.inTransactionOfTheStage().join()).isFalse();
            assertThat(locks.admin().inspect("account")).isEmpty();
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class Refusing {
        @Bean
        LeaseholdSettings settings() {
            return LeaseholdSettings.defaults().outerTransaction(OuterTransaction.FAIL);
        }
    }

    @Test
    void aTransactionOfTheCallerCanBeRefused() {
        try (AnnotationConfigApplicationContext strict =
                Application.of(Database.class, Accounts.class, Refusing.class)) {
            TransactionTemplate around = new TransactionTemplate(strict.getBean(PlatformTransactionManager.class));
            Accounts there = strict.getBean(Accounts.class);
            assertThatThrownBy(() -> around.executeWithoutResult(status -> there.pay(() -> {})))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("inside a transaction of the caller");
            there.pay(() -> {});
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Ending {

        /**
         * During its request for a lock, the transaction of the calling thread loses its registered synchronizations.
         */
        @Bean(autowireCandidate = false)
        LockClient ending() {
            return Leasehold.builder()
                    .store("memory:")
                    .listener(new LockListener() {
                        @Override
                        public void attemptBegan(AttemptBegan event) {
                            TransactionSynchronizationManager.clearSynchronization();
                        }
                    })
                    .connect();
        }
    }

    static class Forgotten {

        @Locked(name = "account", maxWait = "0", client = "ending")
        public void pay() {
            throw new AssertionError("nothing would give the lock back");
        }
    }

    @Test
    void aLockThatNoTransactionWillGiveBackIsGivenBackAtOnce() {
        try (AnnotationConfigApplicationContext there = Application.of(Database.class, Ending.class, Forgotten.class)) {
            Forgotten forgotten = there.getBean(Forgotten.class);
            TransactionTemplate around = new TransactionTemplate(there.getBean(PlatformTransactionManager.class));
            around.executeWithoutResult(status -> {
                assertThatThrownBy(forgotten::pay)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("not active");
                TransactionSynchronizationManager.initSynchronization();
            });
            assertThat(there.getBean("ending", LockClient.class).admin().inspect("account"))
                    .isEmpty();
        }
    }

    @Test
    void theTemplateIsGuardedToo() throws InterruptedException {
        LeaseholdTemplate template = new LeaseholdTemplate(locks);
        LockName account = LockName.exactly("account");
        assertThatThrownBy(() -> template.call(account, Duration.ZERO, lease -> {
                    outer.executeWithoutResult(status -> {
                        jdbc.update("insert into written values ('template')");
                        loseIt();
                    });
                    return "done";
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(written("template")).isZero();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    @EnableTransactionManagement(order = 5)
    static class EarlyTransactions {}

    @Test
    void theLockGoesBeforeATransactionAdvisorOfAnyOrder() {
        try (AnnotationConfigApplicationContext early =
                Application.of(EarlyTransactions.class, Beans.class, Accounts.class)) {
            assertThat(early.getBean(LockedAdvisor.class).getOrder()).isEqualTo(4);
            Accounts there = early.getBean(Accounts.class);
            LockClient where = early.getBean("locks", LockClient.class);
            assertThatThrownBy(() -> there.pay(() -> where.admin().forceRelease("account", null)))
                    .isInstanceOf(LeaseLostException.class);
            assertThat(early.getBean(JdbcTemplate.class).queryForObject("select count(*) from written", Integer.class))
                    .isZero();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Beans {
        private final Database beans = new Database();

        @Bean
        LockClient locks() {
            return beans.locks();
        }

        @Bean(autowireCandidate = false)
        LockClient short_() {
            return beans.short_();
        }

        @Bean(autowireCandidate = false)
        LockClient long_() {
            return beans.long_();
        }

        @Bean
        DataSource database() {
            return beans.database();
        }

        @Bean
        JdbcTemplate jdbc(DataSource database) {
            return beans.jdbc(database);
        }

        @Bean
        PlatformTransactionManager transactions(DataSource database) {
            return beans.transactions(database);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    @EnableTransactionManagement(order = Integer.MIN_VALUE)
    static class FirstTransactions {}

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold(order = 10)
    @EnableTransactionManagement(order = 5)
    static class WrongOrder {}

    @Test
    void anOrderInWhichTheLockWouldBeReleasedBeforeTheCommitIsRefused() {
        assertThat(Application.refused(WrongOrder.class, Beans.class, Accounts.class))
                .hasMessageStartingWith("@Locked method Accounts.")
                .hasMessageContaining(
                        "is locked inside of the transaction of BeanFactoryTransactionAttributeSourceAdvisor: the lock would be"
                                + " released before the commit. Give that advisor a larger order");
        assertThat(Application.refused(FirstTransactions.class, Beans.class, Accounts.class))
                .hasMessageContaining("has the highest precedence")
                .hasMessageContaining("@EnableTransactionManagement(order = 0)");
    }
}
