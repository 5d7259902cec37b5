package io.leasehold.spring.boot.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.LockStoreException;
import io.leasehold.spring.Locked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A test as users write it. */
@Tag("quick")
@SpringBootTest(
        classes = LockFaultsTest.Application.class,
        properties = {
            "leasehold.uri=redis://nowhere:1",
            "leasehold.clients.audit.uri=redis://nowhere:2",
            "leasehold.defaults.max-wait=100ms"
        })
@AutoConfigureLeasehold
class LockFaultsTest {

    @Configuration(proxyBeanMethods = false)
    static class Application {
        @Bean
        Orders orders() {
            return new Orders();
        }
    }

    static class Orders {
        @Locked(name = "order")
        public String pay(Runnable body) {
            body.run();
            return "paid";
        }

        @Locked(name = "entry", client = "audit")
        public String write(Runnable body) {
            body.run();
            return "written";
        }
    }

    @Autowired
    private Orders orders;

    @Autowired
    private LockFaults faults;

    @Test
    void locksAreKeptInMemory() {
        assertThat(orders.pay(() -> {})).isEqualTo("paid");
    }

    @Test
    void aLockCanBeLost() {
        assertThatThrownBy(
                        () -> orders.pay(() -> assertThat(faults.lose("order")).isTrue()))
                .isInstanceOf(LeaseLostException.class);
    }

    @Test
    void aLockCanBeOccupied() throws InterruptedException {
        try (Lease other = faults.occupy("order")) {
            assertThatThrownBy(() -> orders.pay(() -> {})).isInstanceOf(LockBusyException.class);
            assertThatThrownBy(() -> faults.occupy("order")).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void locksOfAClientWithANameAreKeptInMemoryToo() throws InterruptedException {
        assertThat(orders.write(() -> {})).isEqualTo("written");
        try (Lease other = faults.at("audit").occupy("entry")) {
            assertThatThrownBy(() -> orders.write(() -> {})).isInstanceOf(LockBusyException.class);
        }
        assertThatThrownBy(() -> faults.at("x")).hasMessageContaining("there are [audit]");
    }

    @Test
    void theStoreCanBeUnreachable() {
        faults.breakStore();
        try {
            assertThatThrownBy(() -> orders.pay(() -> {})).isInstanceOf(LockStoreException.class);
        } finally {
            faults.repairStore();
        }
        assertThat(orders.pay(() -> {})).isEqualTo("paid");
    }
}
