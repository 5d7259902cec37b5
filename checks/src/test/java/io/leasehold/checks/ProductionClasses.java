package io.leasehold.checks;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The compiled production code, as input of the rules. */
final class ProductionClasses {

    private ProductionClasses() {}

    /** Reading all classes takes seconds, so the tests of a JVM share the result. */
    private static final class All {
        static final JavaClasses CLASSES = new ClassFileImporter().importPaths(folders(Module.values()));
    }

    static JavaClasses ofAll() {
        return All.CLASSES;
    }

    /** The classes of these modules. */
    static JavaClasses of(Module... modules) {
        List<String> folders = folders(modules).stream()
                .map(folder -> folder.toUri().getPath())
                .toList();
        return ofAll().that(new DescribedPredicate<>("are in %s", Arrays.toString(modules)) {
            @Override
            public boolean test(JavaClass type) {
                return type.getSource()
                        .map(source -> source.getUri().getPath())
                        .filter(path -> folders.stream().anyMatch(path::startsWith))
                        .isPresent();
            }
        });
    }

    private static List<Path> folders(Module... modules) {
        return Arrays.stream(modules)
                .filter(Module::hasSources)
                .map(Module::classes)
                .toList();
    }
}
