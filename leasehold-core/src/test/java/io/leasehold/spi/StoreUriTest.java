package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nothing that could be a password is ever printed. */
@Tag("quick")
final class StoreUriTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://:s3cret@h:6379/0",
                "redis://user:s3cret@h",
                "redis://user:a@s3cret@h",
                "redis://user:s3cret/x@h",
                "redis:user:s3cret@h",
                "jdbc:postgresql://h/db?user=u&password=s3cret&x=1",
                "jdbc:h2:mem:x;PASSWORD=s3cret",
                "redlock:?node=redis%3A%2F%2F%3As3cret%40h&node=redis%3A%2F%2Fh2",
                "etcd://h?token=s3cret",
                "user:s3cret@h"
            })
    void secretsAreHiddenHoweverTheyAreWritten(String text) {
        StoreUri uri = StoreUri.parse(text);
        assertThat(uri.redacted()).doesNotContain("s3cret").contains("***");
        assertThat(uri).hasToString(uri.redacted());
        assertThat(uri.text()).isEqualTo(text);
    }

    @Test
    void aUriWithoutSchemeIsRefusedWithoutItsSecrets() {
        assertThatThrownBy(() -> StoreUri.parse("//:s3cret@h"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("has no scheme")
                .hasMessageNotContaining("s3cret");
    }

    @Test
    void schemeAndRestAreTold() {
        assertThat(StoreUri.parse("SQLite:/var/x.db").scheme()).isEqualTo("sqlite");
        assertThat(StoreUri.parse("sqlite:/var/x.db").rest()).isEqualTo("/var/x.db");
        assertThat(StoreUri.parse("memory:").rest()).isEmpty();
    }
}
