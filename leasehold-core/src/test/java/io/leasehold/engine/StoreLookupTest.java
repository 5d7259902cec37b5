package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A URI opens a store of its scheme, or the message names what is missing. */
@Tag("quick")
final class StoreLookupTest {

    @ParameterizedTest
    @CsvSource({
        "redis://h, leasehold-redis",
        "rediss://h, leasehold-redis",
        "redlock:, leasehold-redis",
        "redis-sentinel://h, leasehold-redis",
        "redis-cluster://h, leasehold-redis",
        "redis-replicated://h, leasehold-redis",
        "rediss-sentinel://h, leasehold-redis",
        "rediss-cluster://h, leasehold-redis",
        "rediss-replicated://h, leasehold-redis",
        "sqlite:file, leasehold-jdbc",
        "jdbc:postgresql://h/d, leasehold-jdbc",
        "zk://h, leasehold-zookeeper",
        "etcd://h, leasehold-etcd"
    })
    void aKnownSchemeNamesTheArtefactThatIsMissing(String uri, String artefact) {
        assertThatThrownBy(() -> Leasehold.connect(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("add the artefact io.leasehold:" + artefact);
    }

    @Test
    void anUnknownSchemeIsSaidToBeThatAndNoSecretIsShown() {
        assertThatThrownBy(() -> Leasehold.connect("mongo://user:secret@h"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the scheme \"mongo\" is not known")
                .hasMessageNotContaining("secret");
    }

    @Test
    void aProviderIsFoundAndToldOfCredentials() {
        try (LockClient client = Leasehold.connect("memory:")) {
            assertThat(client.storeDescription()).startsWith("memory");
        }
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("memory:")
                        .credentials(() -> null)
                        .connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("takes no credentials");
    }
}
