package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.jdbc.SqlFencingGuard;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceContext;
import jakarta.persistence.Table;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.hibernate.Session;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/** Tests of the token column of an entity: the mapping that keeps it, and the one that writes an old token back. */
@Tag("quick")
class JpaRecipeTest {

    private final AnnotationConfigApplicationContext application = Application.of(Jpa.class, Orders.class);
    private final Orders orders = application.getBean(Orders.class);
    private final JdbcTemplate jdbc = new JdbcTemplate(application.getBean(DataSource.class));

    @BeforeEach
    void anOrderThatAnEarlierHolderHasWritten() {
        jdbc.update("insert into orders (id, items, fencing_token) values (1, 0, 0)");
    }

    @AfterEach
    void close() {
        application.close();
    }

    /** Hibernate reads the token, and never writes it. */
    @Entity
    @Table(name = "orders")
    @SuppressWarnings("UnusedVariable") // read by Hibernate
    static class Order {
        @Id
        private Long id;

        private int items;

        @Column(name = "fencing_token", insertable = false, updatable = false)
        private Long fencingToken;

        void addItem() {
            items++;
        }
    }

    /** Hibernate writes all columns of a row that has changed: the token, too, as it was when the entity was loaded. */
    @Entity
    @Table(name = "orders")
    @SuppressWarnings("UnusedVariable") // read by Hibernate
    static class WronglyMapped {
        @Id
        private Long id;

        private int items;

        @Column(name = "fencing_token")
        private Long fencingToken;

        void addItem() {
            items++;
        }
    }

    static class Orders {

        private static final SqlFencingGuard ROWS = SqlFencingGuard.of("orders", "id", "fencing_token");

        @PersistenceContext
        private EntityManager entities;

        private void admit(long id, long token) {
            entities.unwrap(Session.class)
                    .doWork(connection -> ROWS.admit(connection, id, token).orElseThrow());
        }

        /** The recipe: first the token, which locks the row, then the entity. */
        @Locked(name = "order:{}", key = "#id", maxWait = "10s")
        @Transactional
        public long addItem(long id, @FencingToken long token) {
            admit(id, token);
            entities.find(Order.class, id).addItem();
            return token;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "10s")
        @Transactional
        public long loadedBefore(long id, @FencingToken long token) {
            Order order = entities.find(Order.class, id);
            admit(id, token);
            order.addItem();
            return token;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "10s")
        @Transactional
        public long wronglyMapped(long id, @FencingToken long token) {
            WronglyMapped order = entities.find(WronglyMapped.class, id);
            admit(id, token);
            order.addItem();
            return token;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "10s", onLoss = OnLoss.NOTIFY)
        @Transactional
        public void addItemAnd(long id, Runnable then) {
            entities.find(Order.class, id).addItem();
            then.run();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    @EnableTransactionManagement
    static class Jpa {

        @Bean
        LockClient locks() {
            return Leasehold.connect("memory:");
        }

        @Bean
        DataSource database() {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1");
            new JdbcTemplate(database)
                    .execute("create table orders (id bigint primary key, items int not null, fencing_token bigint)");
            return database;
        }

        @Bean
        LocalContainerEntityManagerFactoryBean entities(DataSource database) {
            LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
            factory.setDataSource(database);
            factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
            factory.setManagedTypes(PersistenceManagedTypes.of(Order.class.getName(), WronglyMapped.class.getName()));
            return factory;
        }

        @Bean
        PlatformTransactionManager transactions(EntityManagerFactory entities) {
            return new JpaTransactionManager(entities);
        }
    }

    private Long token() {
        return jdbc.queryForObject("select fencing_token from orders where id = 1", Long.class);
    }

    private Integer items() {
        return jdbc.queryForObject("select items from orders where id = 1", Integer.class);
    }

    @Test
    void theRowKeepsTheTokenOfItsNewestHolder() {
        assertThat(orders.addItem(1, 0)).isPositive().isEqualTo(token());
        assertThat(orders.loadedBefore(1, 0)).isEqualTo(token());
        assertThat(items()).isEqualTo(2);
    }

    /** The control test, which shows why the mapping matters. */
    @Test
    void aMappingThatUpdatesTheTokenWritesTheOldOneBack() {
        assertThat(orders.wronglyMapped(1, 0)).isPositive();
        assertThat(token()).isZero();
    }

    @Test
    void aLostLeaseRollsBackBeforeAnythingIsFlushed() {
        LockClient locks = application.getBean(LockClient.class);
        assertThatThrownBy(() -> orders.addItemAnd(1, () -> locks.admin().forceRelease("order:1", null)))
                .isInstanceOf(LeaseLostException.class);
        assertThat(items()).isZero();
    }
}
