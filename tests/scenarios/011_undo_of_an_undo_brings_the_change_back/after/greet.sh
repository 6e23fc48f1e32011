#!/bin/sh
echo good day
