package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.SqlFencingGuard;
import jakarta.persistence.Column;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.MappedSuperclass;
import jakarta.persistence.Table;
import java.util.Arrays;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.hibernate.annotations.DynamicUpdate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;

/** Tests that entities that write the token column of a guard are detected at the start of the application. */
@Tag("quick")
@SuppressWarnings("UnusedVariable") // read by Hibernate, or by the lint
class TokenColumnsTest {

    @Entity
    @Table(name = "orders")
    static class WritesByName {
        @Id
        private Long id;

        @Column(name = "fencing_token")
        private Long token;
    }

    /** An entity with the usual naming strategy: {@code fencing_token} of {@code line_item}. */
    @Entity
    static class LineItem {
        @Id
        private Long id;

        private Long fencingToken;
    }

    /** An entity for a guard with readers; the other column is only read. */
    @Entity
    @Table(name = "shipment")
    static class WritesForReaders {
        @Id
        private Long id;

        private Long fencingWriter;

        @Column(name = "fencing_writer_at", updatable = false)
        private Long at;
    }

    /** The same for the other column. */
    @Entity
    @Table(name = "parcel")
    static class WritesWhereItCounts {
        @Id
        private Long id;

        @Column(name = "fencing_writer_at")
        private Long at;
    }

    @Embeddable
    static class Fence {
        @Column(name = "TOKEN", insertable = false)
        private Long newest;
    }

    @MappedSuperclass
    static class Fenced {
        @Embedded
        private Fence fence;
    }

    @Entity
    @Table(name = "\"stock\"", schema = "warehouse")
    static class WritesEmbedded extends Fenced {
        @Id
        private Long id;
    }

    @Entity
    @Table(name = "orders")
    static class Reads {
        @Id
        private Long id;

        @Column(name = "fencing_token", insertable = false, updatable = false)
        private Long token;
    }

    @Entity
    @DynamicUpdate
    @Table(name = "orders")
    static class WritesChangesOnly {
        @Id
        private Long id;

        @Column(name = "fencing_token")
        private Long token;
    }

    @Entity
    @Table(name = "invoices")
    static class OfAnotherTable {
        @Id
        private Long id;

        @Column(name = "fencing_token")
        private Long token;
    }

    static class Orders {
        private static final SqlFencingGuard ROWS = SqlFencingGuard.of("public.orders", "id", "fencing_token");

        @Locked(name = "order", maxWait = "0")
        public void run() {}
    }

    /** Not locked itself: the service that calls it is. */
    static class LineItems {
        private final SqlFencingGuard rows = SqlFencingGuard.of("line_item", "id", "fencing_token");
    }

    abstract static class Database {
        private final Class<?>[] entities;

        Database(Class<?>... entities) {
            this.entities = entities;
        }

        @Bean
        LeaseholdSettings settings() {
            return LeaseholdSettings.defaults().lint(LintLevel.FAIL);
        }

        @Bean
        DataSource database() {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:");
            return database;
        }

        @Bean
        LocalContainerEntityManagerFactoryBean entities(DataSource database) {
            LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
            factory.setDataSource(database);
            factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
            factory.setManagedTypes(PersistenceManagedTypes.of(
                    Arrays.stream(entities).map(Class::getName).toArray(String[]::new)));
            return factory;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Wrong extends Database {
        Wrong() {
            super(
                    WritesByName.class,
                    LineItem.class,
                    WritesEmbedded.class,
                    Fenced.class,
                    Fence.class,
                    WritesForReaders.class,
                    WritesWhereItCounts.class);
        }

        @Bean
        SqlFencingGuard stock() {
            return SqlFencingGuard.of("stock", "id", "token");
        }

        @Bean
        SqlFencingGuard shipments() {
            return SqlFencingGuard.of("shipment", "id", "fencing_token")
                    .withReaders("fencing_writer", "fencing_writer_at");
        }

        @Bean
        SqlFencingGuard parcels() {
            return SqlFencingGuard.of("parcel", "id", "fencing_token")
                    .withReaders("fencing_writer", "fencing_writer_at");
        }

        @Bean
        LineItems lineItems() {
            return new LineItems();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Right extends Database {
        Right() {
            super(Reads.class, WritesChangesOnly.class, OfAnotherTable.class);
        }
    }

    @Test
    void entitiesThatWriteTheTokenAreNamed() {
        String message = Application.refused(MemoryLocks.class, Wrong.class, Orders.class)
                .getMessage();
        assertThat(message)
                .contains(
                        "The entity WritesByName writes the fencing token fencing_token of public.orders by its attribute"
                                + " token: if it was loaded before the guard wrote the newest token, it writes the old"
                                + " token back. Map it with @Column(insertable = false, updatable = false).")
                .contains("The entity LineItem writes the fencing token fencing_token of line_item by its attribute"
                        + " fencingToken:")
                .contains("The entity WritesEmbedded writes the fencing token token of stock by its attribute newest:")
                .contains("The entity WritesForReaders writes the fencing token fencing_writer of shipment by its"
                        + " attribute fencingWriter:")
                .contains("The entity WritesWhereItCounts writes the fencing token fencing_writer_at of parcel by its"
                        + " attribute at:");
        assertThat(message.lines()).hasSize(5);
    }

    @Test
    void entitiesThatDoNotAreLeftAlone() {
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, Right.class, Orders.class)) {
            assertThat(application.isActive()).isTrue();
        }
    }
}
