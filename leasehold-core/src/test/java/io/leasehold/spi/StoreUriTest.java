package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No text that could be a password is ever printed. */
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
                "user:s3cret@h",
                "jdbc:mysql://user:s3cret@h/db",
                "jdbc:mysql://user:x@h1,user:s3cret@h2/db?useSSL=false",
                "jdbc:mysql://address=(host=h)(user=u)(password=s3cret)/db",
                "jdbc:mysql://(host=h,user=u,password=x;s3cret)/db",
                "jdbc:mysql://h/db?user=u&password1=s3cret&password2=s3cret",
                "jdbc:mariadb://h/db?trustStorePassword=s3cret&keyPassword=s3cret",
                "jdbc:postgresql://h/db?sslpassword=s3cret",
                "jdbc:postgresql://h/db?sslkeypassword=s3cret&user=u",
                "jdbc:postgresql://h/db?user=u&password=x;s3cret",
                "jdbc:h2:mem:x;PASSWORD=x&s3cret",
                "jdbc:h2:mem:x;USER=sa;PASSWORD=x\\;s3cret;CIPHER=AES",
                "jdbc:sqlserver://h;user=u;password={x;s3cret};encrypt=true",
                "jdbc:sqlserver://h;user=u;password={x}};s3cret};encrypt=true",
                "jdbc:sqlserver://h;trustStorePassword=s3cret;keyStoreSecret=s3cret",
                "jdbc:mysql://h/db?trustCertificateKeyStorePassword=s3cret",
                "jdbc:oracle:thin:scott/s3cret@//h:1521/svc",
                "jdbc:oracle:thin:scott/s3cret@h:1521:sid",
                "jdbc:db2://h:50000/db:user=u;password=s3cret;",
                "jdbc:db2://h:50000/db:password=s3cret;user=u;"
            })
    void secretsAreHiddenHoweverTheyAreWritten(String text) {
        StoreUri uri = StoreUri.parse(text);
        assertThat(uri.redacted()).doesNotContain("s3cret").contains("***");
        assertThat(uri).hasToString(uri.redacted());
        assertThat(uri.text()).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:h2:tcp://h/./locks;MODE=MySQL;IFEXISTS=TRUE",
                "jdbc:postgresql://h:5432/db?sslmode=verify-full&user=u",
                "sqlite:/var/lib/monkey=1/x.db",
                "redis-sentinel://h1:26379,h2:26379/main?db=3",
                "jdbc:mariadb://h:3306/locks"
            })
    void whatIsNoSecretIsShown(String text) {
        assertThat(StoreUri.parse(text).redacted()).isEqualTo(text);
    }

    /** The host distinguishes one store from another in a message. */
    @Test
    void aPasswordThatLooksLikeAParameterHidesNotTheHost() {
        assertThat(StoreUri.parse("redis://user:password=s3cret@h/0").redacted())
                .isEqualTo("redis://***@h/0");
        assertThat(StoreUri.parse("redis://user:password=s3cret@h/0?db=1").redacted())
                .isEqualTo("redis://***@h/0?db=1");
    }

    @Test
    void aUriWithoutSchemeIsRefusedWithoutItsSecrets() {
        assertThatThrownBy(() -> StoreUri.parse("//:s3cret@h"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("has no scheme")
                .hasMessageNotContaining("s3cret");
    }

    @Test
    void anEmptyUriIsRefused() {
        assertThatThrownBy(() -> StoreUri.parse(" "))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("the store URI is empty; write for example memory:");
    }

    @Test
    void schemeAndRestAreTold() {
        assertThat(StoreUri.parse("SQLite:/var/x.db").scheme()).isEqualTo("sqlite");
        assertThat(StoreUri.parse("sqlite:/var/x.db").rest()).isEqualTo("/var/x.db");
        assertThat(StoreUri.parse("memory:").rest()).isEmpty();
    }
}
