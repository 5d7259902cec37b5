package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.spi.StoreUri;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A suggestion is a similar scheme, or another name for the same store. */
@Tag("quick")
final class SchemeSuggestionTest {

    private static final List<String> KNOWN = List.of("etcd", "jdbc", "memory", "redis", "rediss", "sqlite", "zk");

    @ParameterizedTest
    @CsvSource({
        "redi, redis",
        "reddis, redis",
        "sqllite, sqlite",
        "sqlite3, sqlite",
        "etdc, etcd",
        "mem0ry, memory",
        "postgres, jdbc:postgresql",
        "postgresql, jdbc:postgresql",
        "mysql, jdbc:mysql",
        "zookeeper, zk",
        "valkey, redis",
        "file, sqlite",
    })
    void theNearestIsMeant(String scheme, String meant) {
        assertThat(SchemeSuggestion.of(scheme, KNOWN)).isEqualTo(meant);
    }

    @ParameterizedTest
    @ValueSource(strings = {"mongo", "nowhere", "http", "x", "s3"})
    void nothingIsMeantWhereNothingIsNear(String scheme) {
        assertThat(SchemeSuggestion.of(scheme, KNOWN)).isNull();
    }

    @Test
    void editsAreCounted() {
        assertThat(SchemeSuggestion.edits("", "abc")).isEqualTo(3);
        assertThat(SchemeSuggestion.edits("abc", "abc")).isZero();
        assertThat(SchemeSuggestion.edits("kitten", "sitting")).isEqualTo(3);
    }

    @Test
    void ofSeveralThatAreAsNearTheFirstIsMeantAndOfTwoLettersOneIsTooFew() {
        assertThat(SchemeSuggestion.of("hat", List.of("bat", "cat"))).isEqualTo("bat");
        assertThat(SchemeSuggestion.of("zz", List.of("zk"))).isNull();
    }

    @Test
    void theQuestionNamesWhatTheClassPathKnows() {
        assertThatThrownBy(() -> StoreLookup.provider(StoreUri.parse("memroy:")))
                .hasMessageEndingWith("is not known; did you mean memory:?");
        assertThatThrownBy(() -> StoreLookup.provider(StoreUri.parse("nowhere:")))
                .hasMessageEndingWith("is not known");
    }
}
