package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.util.ArrayList;
import java.util.List;
import org.h2.jdbcx.JdbcDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Tests of calls inside a transaction whose manager calls no synchronizations, like those of Kafka, JMS and RabbitMQ. */
@Tag("quick")
class UnsynchronizedTransactionsTest {

    private final AnnotationConfigApplicationContext application = Application.of(Managers.class, Accounts.class);
    private final LockClient locks = application.getBean("locks", LockClient.class);
    private final Accounts accounts = application.getBean(Accounts.class);
    private final Broker broker = application.getBean(Broker.class);
    private final TransactionTemplate outer = new TransactionTemplate(broker);
    private final TransactionTemplate database =
            new TransactionTemplate(application.getBean(JdbcTransactionManager.class));
    private final List<String> commits = new ArrayList<>();

    @AfterEach
    void close() {
        application.close();
    }

    /** A manager without a resource. It serves one thread. */
    static final class Broker extends AbstractPlatformTransactionManager {

        private static final long serialVersionUID = 1;

        private transient @Nullable Object running;
        private transient Runnable commit = () -> {};

        Broker() {
            setTransactionSynchronization(SYNCHRONIZATION_NEVER);
        }

        @Override
        protected Object doGetTransaction() {
            return running == null ? new Object() : running;
        }

        @Override
        protected boolean isExistingTransaction(Object transaction) {
            return running != null;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            running = transaction;
        }

        @Override
        protected Object doSuspend(Object transaction) {
            running = null;
            return transaction;
        }

        @Override
        protected void doResume(@Nullable Object transaction, Object suspended) {
            running = suspended;
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            commit.run();
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {}

        @Override
        protected void doCleanupAfterCompletion(Object transaction) {
            running = null;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    static class Managers {

        @Bean
        LockClient locks() {
            return Leasehold.connect("memory:");
        }

        @Bean
        Broker broker() {
            return new Broker();
        }

        @Bean
        JdbcTransactionManager database() {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:" + System.nanoTime());
            return new JdbcTransactionManager(database);
        }
    }

    static class Accounts {
        @Locked(name = "account", maxWait = "0")
        public long pay() {
            return Locks.current().fencingToken();
        }
    }

    private boolean isHeld() {
        return locks.admin().inspect("account").isPresent();
    }

    private void noteCommits() {
        broker.commit = () -> commits.add(isHeld() ? "held" : "free");
    }

    @Test
    void theLockIsKeptUntilTheTransactionHasBeenCommitted() {
        noteCommits();
        List<Long> tokens = new ArrayList<>();
        outer.executeWithoutResult(status -> {
            tokens.add(accounts.pay());
            assertThat(isHeld()).isTrue();
            tokens.add(accounts.pay());
        });
        assertThat(tokens.get(1)).as("the calls share the lease").isEqualTo(tokens.get(0));
        assertThat(commits).containsExactly("held");
        assertThat(isHeld()).isFalse();
        assertThat(accounts.pay()).isGreaterThan(tokens.get(0));
        assertThat(isHeld()).as("after a call without a transaction").isFalse();
    }

    @Test
    void theLockIsReleasedAfterARollback() {
        outer.executeWithoutResult(status -> {
            accounts.pay();
            status.setRollbackOnly();
        });
        assertThat(isHeld()).isFalse();
    }

    @Test
    void theLockIsReleasedAfterACommitThatFailed() {
        broker.commit = () -> {
            throw new TransactionSystemException("the broker has disappeared");
        };
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> accounts.pay()))
                .isInstanceOf(TransactionSystemException.class);
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aLossBeforeTheCommitRollsTheTransactionBack() {
        noteCommits();
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                    accounts.pay();
                    locks.admin().forceRelease("account", null);
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(commits).isEmpty();
    }

    @Test
    void aTransactionOfItsOwnReleasesAtItsOwnEnd() {
        TransactionTemplate own = new TransactionTemplate(broker);
        own.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        noteCommits();
        outer.executeWithoutResult(status -> {
            own.executeWithoutResult(inner -> accounts.pay());
            assertThat(isHeld()).isFalse();
        });
        assertThat(commits).containsExactly("held", "free");
    }

    @Test
    void theLastOfSeveralTransactionsReleases() {
        noteCommits();
        outer.executeWithoutResult(status -> {
            database.executeWithoutResult(inner -> accounts.pay());
            assertThat(isHeld()).isTrue();
        });
        assertThat(isHeld()).isFalse();
        database.executeWithoutResult(status -> {
            outer.executeWithoutResult(inner -> accounts.pay());
            assertThat(isHeld()).isTrue();
        });
        assertThat(isHeld()).isFalse();
        assertThat(commits).containsExactly("held", "held");
    }

    @Test
    void theTransactionsAroundOneAnotherShareTheLease() {
        List<Long> tokens = new ArrayList<>();
        database.executeWithoutResult(status -> {
            outer.executeWithoutResult(inner -> tokens.add(accounts.pay()));
            tokens.add(accounts.pay());
        });
        assertThat(tokens.get(1)).as("the inner one began").isEqualTo(tokens.get(0));
        assertThat(isHeld()).isFalse();
        database.executeWithoutResult(status -> {
            tokens.add(accounts.pay());
            outer.executeWithoutResult(inner -> tokens.add(accounts.pay()));
            assertThat(isHeld()).isTrue();
        });
        assertThat(tokens.get(3)).as("the outer one began").isEqualTo(tokens.get(2));
        assertThat(isHeld()).isFalse();
    }

    /** The synchronizations of the outer one are suspended while the inner one runs. */
    @Test
    void twoDatabasesShareTheLease() {
        TransactionTemplate second = new TransactionTemplate(new Managers().database());
        List<Long> tokens = new ArrayList<>();
        database.executeWithoutResult(status -> {
            tokens.add(accounts.pay());
            second.executeWithoutResult(inner -> tokens.add(accounts.pay()));
            assertThat(isHeld()).isTrue();
        });
        assertThat(tokens.get(1)).isEqualTo(tokens.get(0));
        assertThat(isHeld()).isFalse();
    }

    /** As the listeners of transactional events do. */
    @Test
    void aCallbackAfterCompletionOfTheOuterTransactionMayLock() {
        List<Long> tokens = new ArrayList<>();
        database.executeWithoutResult(status -> {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCompletion(int outcome) {
                    tokens.add(isHeld() ? -1 : accounts.pay());
                }
            });
            outer.executeWithoutResult(inner -> tokens.add(accounts.pay()));
        });
        assertThat(tokens).hasSize(2);
        assertThat(tokens.get(1)).isGreaterThan(tokens.get(0));
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aCallbackAfterTheCommitSharesTheLease() {
        List<Long> tokens = new ArrayList<>();
        database.executeWithoutResult(status -> {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    tokens.add(accounts.pay());
                }
            });
            outer.executeWithoutResult(inner -> tokens.add(accounts.pay()));
        });
        assertThat(tokens).hasSize(2);
        assertThat(tokens.get(1)).isEqualTo(tokens.get(0));
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aLossAfterTheInnerTransactionRollsTheOuterOneBack() {
        assertThatThrownBy(() -> database.executeWithoutResult(status -> {
                    outer.executeWithoutResult(inner -> accounts.pay());
                    locks.admin().forceRelease("account", null);
                }))
                .isInstanceOf(LeaseLostException.class);
    }

    /** Spring takes the exception for one of the commit, and reports no end. */
    @Test
    void aCallbackThatFailsLikeACommitLeavesNoLease() {
        assertThatThrownBy(() -> database.executeWithoutResult(status -> {
                    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                        @Override
                        public void beforeCommit(boolean readOnly) {
                            throw new CannotCreateTransactionException("no connection");
                        }
                    });
                    outer.executeWithoutResult(inner -> accounts.pay());
                }))
                .isInstanceOf(CannotCreateTransactionException.class);
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aTransactionWhoseEndIsNotReportedLosesItsLeaseWhenTheNextBegins() {
        broker.addListener(new TransactionExecutionListener() {
            @Override
            public void beforeCommit(TransactionExecution transaction) {
                throw new CannotCreateTransactionException("no connection");
            }
        });
        assertThatThrownBy(() -> outer.executeWithoutResult(status -> accounts.pay()))
                .isInstanceOf(CannotCreateTransactionException.class);
        database.executeWithoutResult(status -> assertThat(isHeld()).isFalse());
    }

    @Configuration(proxyBeanMethods = false)
    static class Refusing {
        @Bean
        LeaseholdSettings settings() {
            return LeaseholdSettings.defaults().outerTransaction(OuterTransaction.FAIL);
        }
    }

    @Test
    void theTransactionCanBeRefused() {
        try (AnnotationConfigApplicationContext strict =
                Application.of(Managers.class, Accounts.class, Refusing.class)) {
            TransactionTemplate around = new TransactionTemplate(strict.getBean(Broker.class));
            Accounts there = strict.getBean(Accounts.class);
            assertThatThrownBy(() -> around.executeWithoutResult(status -> there.pay()))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("inside a transaction of the caller");
            there.pay();
        }
    }
}
