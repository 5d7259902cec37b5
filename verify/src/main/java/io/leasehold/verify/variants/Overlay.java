package io.leasehold.verify.variants;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/** The production classes and scripts, with one rule removed. They contain no code for that. */
final class Overlay {

    private Overlay() {}

    /**
     * Compiles and loads them.
     *
     * @param source the file that is changed
     * @param target the folder for the changed class
     * @return a class loader that loads all classes of this project itself
     */
    static URLClassLoader of(Variant variant, Path source, Path target) {
        String text;
        try {
            text = Files.readString(source);
            Files.createDirectories(target);
        } catch (IOException e) {
            throw new UncheckedIOException("variant " + variant.name() + " cannot be made", e);
        }
        if (variant.isClass()) {
            compile(variant, variant.applyTo(text), target);
        } else {
            write(variant, variant.applyTo(text), target);
        }
        List<URL> path = new ArrayList<>();
        path.add(url(target));
        for (String entry : System.getProperty("java.class.path").split(java.io.File.pathSeparator, -1)) {
            path.add(url(Path.of(entry)));
        }
        return new OwnClasses(path.toArray(URL[]::new));
    }

    private static void write(Variant variant, String text, Path target) {
        Path resource = target.resolve("io/leasehold").resolve(variant.source());
        try {
            Files.createDirectories(resource.getParent());
            Files.writeString(resource, text);
        } catch (IOException e) {
            throw new UncheckedIOException("variant " + variant.name() + " cannot be made", e);
        }
    }

    private static URL url(Path path) {
        try {
            return path.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(path + " is no place for classes", e);
        }
    }

    private static void compile(Variant variant, String text, Path target) {
        JavaCompiler compiler = Objects.requireNonNull(
                ToolProvider.getSystemJavaCompiler(), "variants need a JDK, and this Java has no compiler");
        StringWriter messages = new StringWriter();
        JavaFileObject source =
                new SimpleJavaFileObject(
                        URI.create("string:///io/leasehold/" + variant.source()), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return text;
                    }
                };
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            files.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(target));
            boolean fine = compiler.getTask(
                            messages, files, null, List.of("-proc:none", "-nowarn"), null, List.of(source))
                    .call();
            if (!fine) {
                throw new IllegalStateException("variant " + variant.name() + " does not compile: " + messages);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Loads this project's classes itself, and everything else as usual. */
    private static final class OwnClasses extends URLClassLoader {
        OwnClasses(URL[] path) {
            super(path, Overlay.class.getClassLoader());
        }

        @Override
        public URL getResource(String name) {
            URL own = name.startsWith("io/leasehold/") ? findResource(name) : null;
            return own != null ? own : super.getResource(name);
        }

        @Override
        public Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("io.leasehold.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : findClass(name);
            }
        }
    }
}
