package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.Leasehold;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The meaning of a URI, and the rule that each wrong one breaks. */
@Tag("quick")
class EtcdUriTest {

    private static EtcdUri parse(String text) {
        return EtcdUri.parse(StoreUri.parse(text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "etcd:h | must be followed by //",
                "etcd://h:0 | from 1 to 65535",
                "etcd://h,,i | is no host",
                "etcd://h/a//b | is no prefix",
                "etcd://h/a b | is no prefix",
                "etcd://user@h | a user, a colon and a password",
                "etcd://h?bogus=1 | unknown option \"bogus\"",
                "etcd://h?tls=yes | must be true or false",
                "etcd://h?ca=/x | is for TLS",
                "etcd://h?cert=/x | is for TLS",
                "etcd://h?key=/x | is for TLS",
                "etcd://h?tls=true&ca=/does/not/exist | no file",
                "etcd://h?tokenBase=x | whole number",
                "etcd://h?electionTimeout=2 | is no duration",
                "etcd://h?tls=true&tls=true | is given twice",
                "etcd://h#x | fragment",
                "etcd://u:x?hunter2@h | write ? and # in a password"
            })
    void refusesWithTheRule(String uri, String rule) {
        assertThatThrownBy(() -> parse(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(rule)
                .hasMessageNotContaining("hunter2");
    }

    @Test
    void neverShowsThePassword() {
        EtcdUri uri = parse("etcd://me:s%40cret@h1,[::1]:2380/a/b?tokenBase=7");
        assertThat(uri).hasToString("etcd://h1:2379,[::1]:2380/a/b");
        assertThat(uri.user()).isEqualTo("me");
        assertThat(uri.password()).isEqualTo("s@cret");
        assertThat(uri.endpoints()).extracting(Object::toString).containsExactly("http://h1:2379", "http://[::1]:2380");
        assertThat(uri.prefix()).isEqualTo("a/b");
        assertThat(uri.tokens().value()).isEqualTo(7);
    }

    @Test
    void whatIsNotSaidHasADefault() {
        EtcdUri uri = parse("etcd://h");
        assertThat(uri.prefix()).isEqualTo("leasehold");
        assertThat(uri.user()).isNull();
        assertThat(uri.password()).isNull();
        assertThat(uri.tokens().value()).isZero();
        assertThat(uri.electionTimeout()).isEqualTo(Duration.ofSeconds(1));
        assertThat(uri.tls()).isFalse();
        assertThat(uri.file("ca")).isNull();
    }

    @Test
    void optionsAreRead(@TempDir Path directory) throws Exception {
        assertThat(parse("etcd://h?electionTimeout=2500ms").electionTimeout()).isEqualTo(Duration.ofMillis(2500));
        Path file = Files.createFile(directory.resolve("file.pem"));
        EtcdUri tls = parse("etcd://h?tls=true&ca=" + file);
        assertThat(tls.tls()).isTrue();
        assertThat(tls.endpoints()).extracting(Object::toString).containsExactly("https://h:2379");
        assertThat(tls.file("ca")).isEqualTo(file);
        assertThat(parse("etcd://h?tls=true&cert=" + file + "&key=" + file).file("key"))
                .isEqualTo(file);
    }

    @Test
    void aCertificateAndItsKeyBelongTogether(@TempDir Path directory) throws Exception {
        Path file = Files.createFile(directory.resolve("file.pem"));
        for (String one : new String[] {"cert", "key"}) {
            assertThatThrownBy(() -> parse("etcd://h?tls=true&" + one + "=" + file))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("belong together");
        }
    }

    @Test
    void credentialsComeFromOnePlace() {
        EtcdUri without = parse("etcd://h");
        assertThat(without.withoutLogin()).isSameAs(without);
        assertThatThrownBy(() -> parse("etcd://me:hunter2@h").withoutLogin())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a credentials provider is also set")
                .hasMessageNotContaining("hunter2");
        assertThatThrownBy(() -> new EtcdStoreProvider()
                        .open(
                                StoreUri.parse("etcd://me:hunter2@h"),
                                () -> Credentials.of("me", "other"),
                                VirtualRuntime.seeded(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a credentials provider is also set");
    }

    /** Otherwise the client would start, and refuse every lock. */
    @Test
    void alsoALazyClientReportsIt() {
        for (String wrong : List.of("etcd://h?tsl=true", "etcd://h:port")) {
            assertThatThrownBy(() -> Leasehold.builder().store(wrong).connectLazily())
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("etcd://me:secret@h")
                        .credentials(() -> {
                            throw new AssertionError("no store is opened");
                        })
                        .connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("credentials");
    }
}
