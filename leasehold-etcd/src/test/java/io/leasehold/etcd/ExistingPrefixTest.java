package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.options.GetOption;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.EtcdServer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that a client that only looks writes no key. */
@Tag("quick")
class ExistingPrefixTest {

    private static EtcdServer server;

    @BeforeAll
    static void start() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static String uri(String rest) {
        return "etcd://127.0.0.1:" + server.port() + "/" + rest;
    }

    private static LockClient existing(String rest) {
        return Leasehold.builder().store(uri(rest)).existing().connect();
    }

    private static Client client() {
        return Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    private static List<String> keys(String prefix) throws Exception {
        try (Client client = client()) {
            return client
                    .getKVClient()
                    .get(Keys.bytes(prefix), GetOption.builder().isPrefix(true).build())
                    .get(60, TimeUnit.SECONDS)
                    .getKvs()
                    .stream()
                    .map(found -> found.getKey().toString())
                    .toList();
        }
    }

    @Test
    void anUnusedPrefixIsNoStoreAndGetsNoKey() throws Exception {
        assertThatThrownBy(() -> existing("typo"))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageStartingWith("there is no store at " + uri("typo") + ": no lock was ever acquired there");
        assertThat(keys("typo")).isEmpty();
    }

    @Test
    void theLocksOfAStoreAreSeenAndItsBaseIsCompared() throws Exception {
        try (LockClient ordinary = Leasehold.connect(uri("used"));
                Lease lease = ordinary.named("job").acquire();
                LockClient look = existing("used")) {
            assertThat(look.admin().list("*", 9)).hasSize(1);
            assertThat(look.admin().forceRelease(LockName.of("job"), null)).isTrue();
        }
        assertThatThrownBy(() -> existing("used?tokenBase=7"))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("tokenBase is 7");
    }

    /** The command {@code etcdctl lock} may keep locks there. */
    @Test
    void aPrefixOfAnotherProgramIsReadAndGetsNoBase() throws Exception {
        try (Client client = client()) {
            ByteSequence key = Keys.bytes("other/job/1");
            client.getKVClient().put(key, Keys.bytes("x")).get(60, TimeUnit.SECONDS);
        }
        try (LockClient look = existing("other")) {
            assertThat(look.admin().list("*", 9)).hasSize(1);
        }
        assertThat(keys("other")).containsExactly("other/job/1");
    }
}
